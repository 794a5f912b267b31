/** Check of a guess at the operator's password. */

import { createHash, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { PASSWORD_HASH } from 'contract/password'

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
)

/** Turn of a task among those that wait. */
export type Turn = 'first' | 'last'

/** Rejection of a task for which no place is left. */
export class QueueFull extends Error {}

const MAX_WAITING = 8

/** Runs one derivation at a time: each takes 32 MiB, and some 0.1 s. */
const inTurn = createQueue(MAX_WAITING)

type Waiting = { turn: Turn; start: () => void; refuse: (error: QueueFull) => void }

/**
 * Creates a function that runs tasks one after the other. It rejects with `QueueFull` when too many wait; a first one takes the place of a last
 * one then.
 */
export function createQueue(maxWaiting: number) {
  const waiting: Waiting[] = []
  let isRunning = false
  return async function run<T>(turn: Turn, task: () => Promise<T>): Promise<T> {
    if (isRunning) await new Promise<void>((start, refuse) => enqueue({ turn, start, refuse }))
    isRunning = true
    try {
      return await task()
    } finally {
      isRunning = waiting.length > 0
      waiting.shift()?.start()
    }
  }

  function enqueue(entry: Waiting): void {
    const firsts = waiting.filter(({ turn }) => turn === 'first').length
    waiting.splice(entry.turn === 'first' ? firsts : waiting.length, 0, entry)
    if (waiting.length > maxWaiting) waiting.pop()?.refuse(new QueueFull())
  }
}

/** Compares a guess in constant time. Rejects with `QueueFull` when too many guesses wait. */
export async function isPassword(configured: string, guess: string, turn: Turn): Promise<boolean> {
  const [, cost, blocks, lanes, salt = '', hash = ''] = PASSWORD_HASH.exec(configured) ?? []
  if (hash === '') return timingSafeEqual(digest(configured), digest(guess))
  const expected = Buffer.from(hash, 'base64url')
  const parameters = { N: Number(cost), r: Number(blocks), p: Number(lanes), maxmem: 512 * 1024 * 1024 }
  const derived = await inTurn(turn, () =>
    derive(guess, Buffer.from(salt, 'base64url'), expected.length, parameters),
  )
  return timingSafeEqual(derived, expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
