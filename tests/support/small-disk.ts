/** A file system of a few MiB, mounted for one test. It needs `requires('mount')`. */

import { spawnSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from './temporary-folder.ts'

/** Mounts an empty one. `await using` unmounts it. */
export async function mountSmallDisk(mebibytes: number) {
  const folder = await makeFolder()
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder.path])
  const ballast = join(folder.path, 'ballast')
  return {
    path: folder.path,
    /** Takes up all the space that is left. */
    fill: () => void spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k']),
    /** Frees what `fill` has taken up. */
    free: () => rm(ballast),
    async [Symbol.asyncDispose]() {
      spawnSync('umount', ['--lazy', folder.path])
      await folder[Symbol.asyncDispose]()
    },
  }
}
