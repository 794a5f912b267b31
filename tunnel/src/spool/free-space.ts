/** Default bound of a spool. */

import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { takenBytes } from './sqlite/space.ts'

const MAX_BYTES = 5 * 1024 ** 3 // 5 GiB

/** Returns 5 GiB, or half of the disk's bytes that are free or taken by this spool, if that is less. */
export async function defaultBound(file: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(file))
  return Math.min(MAX_BYTES, Math.floor((bavail * bsize + takenBytes(file)) / 2))
}
