/** The fate of each envelope, settled once: counted, logged, and the last ones kept to look at. */

import type { Logger } from 'pino'
import type { Receipt, SpoolEnd } from './contract.ts'
import type { Metrics } from './metrics.ts'
import { createRandomHex } from './random-hex.ts'

export type Receipts = {
  /** Settles an envelope, and gives the token by which its sender may look it up. */
  settle(receipt: Receipt): string
  /** Tells how waiting in the spool ended. */
  end(end: SpoolEnd): void
  /** What a visitor's token stands for, for 10 minutes. */
  find(token: string): Receipt | undefined
  /** The number of the newest one; they count from 1. */
  newest(): number
  /** Those after number `seq`, as far as they are kept, with the number of the first. */
  after(seq: number): { first: number; receipts: Receipt[] }
  /** Resolves when the next one is settled, or at the signal. */
  next(signal: AbortSignal): Promise<void>
}

const KEPT = 20_000
const TOLD = 2_000 // of them to who follows them all
const TOKEN_MS = 10 * 60 * 1000

/** `now` in milliseconds since 1970. */
export function createReceipts(metrics: Metrics, log: Logger, now: () => number): Receipts {
  // Two rings: a map of tokens costs every envelope more than a look along the ring costs the few visitors who ask.
  const ring: Receipt[] = []
  const tokens: string[] = []
  const newToken = createRandomHex()
  let seq = 0
  const waiting = new Set<() => void>()
  return { settle, end, find, newest: () => seq, after, next }

  function settle(receipt: Receipt): string {
    metrics.count(receipt)
    log.info({ receipt }, 'envelope')
    const token = newToken()
    const slot = seq++ % KEPT
    ring[slot] = receipt
    tokens[slot] = token
    wake()
    return token
  }

  function end(spoolEnd: SpoolEnd): void {
    metrics.countEnd(spoolEnd)
    log.info({ end: spoolEnd }, 'end')
  }

  function wake(): void {
    for (const resolve of waiting) resolve()
  }

  function find(token: string): Receipt | undefined {
    const receipt = ring[tokens.indexOf(token)]
    return receipt && now() - receipt.time < TOKEN_MS ? receipt : undefined
  }

  function after(given: number): { first: number; receipts: Receipt[] } {
    const first = Math.max(given, seq - TOLD) + 1
    const receipts: Receipt[] = []
    for (let number = first; number <= seq; number++) {
      const receipt = ring[(number - 1) % KEPT]
      if (receipt) receipts.push(receipt)
    }
    return { first, receipts }
  }

  function next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      waiting.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
