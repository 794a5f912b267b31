/** How much a spool may hold where no bound is set. */

import { statfs } from 'node:fs/promises'

const MOST = 5 * 1024 ** 3 // 5 GiB

/** 5 GiB or half of what the disk of `folder` has free, whichever is smaller. */
export async function defaultBound(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return Math.min(MOST, Math.floor((bavail * bsize) / 2))
}
