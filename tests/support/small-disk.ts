/** File system of a few MiB, mounted for one test. It needs `requires('mount')`. */

import { spawnSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from './temporary-folder.ts'

/** Mounts an empty file system. `await using` unmounts it. */
export async function mountSmallDisk(mebibytes: number) {
  const folder = await makeFolder()
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder.path])
  const ballast = join(folder.path, 'ballast')
  return {
    path: folder.path,
    /** Uses up the free space. */
    fill: () => void spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k']),
    /** Frees the space that `fill` has used. */
    free: () => rm(ballast),
    async [Symbol.asyncDispose]() {
      spawnSync('umount', ['--lazy', folder.path])
      await folder[Symbol.asyncDispose]()
    },
  }
}
