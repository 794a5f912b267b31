/** Random names of 128 bits, in hex. */

import { randomFillSync } from 'node:crypto'

const NAME_BYTES = 16
export const HEX_LENGTH = 2 * NAME_BYTES

const pool = Buffer.allocUnsafe(256 * NAME_BYTES) // `randomBytes` costs 26 times as much, and `randomUUID` without dashes 4 times
let used = pool.length

export function randomHex(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += NAME_BYTES
  return pool.toString('hex', used - NAME_BYTES, used)
}
