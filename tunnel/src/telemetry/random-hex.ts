/** Names that nobody can guess: 128 random bits each, in hex. */

import { randomFillSync } from 'node:crypto'

const BYTES = 16
export const HEX_LENGTH = BYTES * 2
const POOLED = 256

/** Drawn many at a time, since every draw is a system call. */
export function createRandomHex(): () => string {
  const pool = Buffer.alloc(BYTES * POOLED)
  let used = POOLED
  return function randomHex() {
    if (used === POOLED) {
      randomFillSync(pool)
      used = 0
    }
    const start = used++ * BYTES
    return pool.toString('hex', start, start + BYTES)
  }
}
