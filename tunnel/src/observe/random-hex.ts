/** Random names of 122 bits, in hex. */

import { randomUUID } from 'node:crypto'

export const HEX_LENGTH = 32

export function randomHex(): string {
  return randomUUID().replaceAll('-', '') // seven times as fast as `randomBytes`
}
