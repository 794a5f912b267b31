/** Folder for one test's files. */

import { statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 * 1024 ** 3 // enough for the folders of all test files that run at the same time

/** Creates an empty folder. `await using` deletes it with its contents. */
export function makeFolder() {
  return makeFolderIn(tmpdir())
}

/** Creates an empty folder in memory, where syncs take no time, or on the disk of a system that has too little for it. Programs in it may not run. */
export function makeMemoryFolder() {
  return makeFolderIn(memoryRoom() < ROOM_BYTES ? tmpdir() : MEMORY)
}

async function makeFolderIn(parent: string) {
  const path = await mkdtemp(join(parent, 'culvert-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function memoryRoom(): number {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize
  } catch {
    return 0 // not Linux
  }
}
