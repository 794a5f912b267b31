/** Check of the operator's password, which may be configured as a hash. */

import { createHash, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

export const MIN_PASSWORD_LENGTH = 12

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
)

// No `$`, which Compose would expand. `npm run hash-password` prints such a hash.
const HASH = /^scrypt:(\d{4,7}):(\d{1,2}):(\d{1,2}):([\w-]{22,}):([\w-]{43,})$/

/** Describes what is wrong with a configured password; `undefined` when it is valid. */
export function passwordProblem(configured: string): string | undefined {
  if (configured.startsWith('scrypt:'))
    return HASH.test(configured)
      ? undefined
      : 'is not a hash; write what "npm run hash-password" prints, whole, or a password that does not begin with scrypt:'
  return configured.length < MIN_PASSWORD_LENGTH
    ? `is too short; write ${MIN_PASSWORD_LENGTH} characters or more`
    : undefined
}

/** Runs one derivation at a time: each takes 32 MiB. */
const inTurn = createQueue()

/** Creates a function that runs tasks one after the other, in order. */
export function createQueue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return function run(task) {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}

/** Compares a guess in constant time. */
export async function isPassword(configured: string, guess: string): Promise<boolean> {
  const [, cost, blocks, lanes, salt = '', hash = ''] = HASH.exec(configured) ?? []
  if (hash === '') return timingSafeEqual(digest(configured), digest(guess))
  const expected = Buffer.from(hash, 'base64url')
  const parameters = { N: Number(cost), r: Number(blocks), p: Number(lanes), maxmem: 512 * 1024 * 1024 }
  const derived = await inTurn(() =>
    derive(guess, Buffer.from(salt, 'base64url'), expected.length, parameters),
  )
  return timingSafeEqual(derived, expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
