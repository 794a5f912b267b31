/** Names that nobody can guess: 122 random bits each, in hex. */

import { randomUUID } from 'node:crypto'

export const HEX_LENGTH = 32

export function randomHex(): string {
  return randomUUID().replaceAll('-', '') // `randomBytes` allocates outside the heap each time
}
