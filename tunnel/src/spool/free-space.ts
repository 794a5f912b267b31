/** Default bound of a spool. */

import { statfs } from 'node:fs/promises'

const MAX_BYTES = 5 * 1024 ** 3 // 5 GiB

/** Returns 5 GiB, or half of the free bytes on the disk of `folder` if that is less. */
export async function defaultBound(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return Math.min(MAX_BYTES, Math.floor((bavail * bsize) / 2))
}
