/** The fate of each envelope, settled once: counted, logged, told to who follows, and the last ones kept to look at. */

import type { Logger } from 'pino'
import type { Receipt, SpoolEnd } from './contract.ts'
import type { Metrics } from './metrics.ts'
import { createRandomHex } from './random-hex.ts'

export type Receipts = {
  /** Settles an envelope, and gives the token by which its sender may look it up. */
  settle(receipt: Receipt): string
  /** Tells how waiting in the spool ended. */
  end(end: SpoolEnd): void
  /** What a visitor's token stands for, for 10 minutes, or until 20,000 more have come: on a busy site that is sooner. */
  find(token: string): Receipt | undefined
  /** The number of the newest that was told, a receipt or an end; they count from 1. */
  newest(): number
  /** Those after number `seq`, as far as they are kept and at most so many, with the number of the first. */
  after(seq: number, most: number): { first: number; told: Told[] }
  /** Resolves when the next one is told, or at the signal. */
  next(signal: AbortSignal): Promise<void>
}

/** What those hear who follow: how an envelope was answered, and how its waiting ended where it was spooled. */
export type Told = Receipt | SpoolEnd

const KEPT = 20_000 // for whoever has a token
const KEPT_TOLD = 2_000 // for whoever follows
const TOKEN_MS = 10 * 60 * 1000

/** `now` in milliseconds since 1970. */
export function createReceipts(metrics: Metrics, log: Logger, now: () => number): Receipts {
  // Two rings: a map of tokens costs every envelope more than a look along the ring costs the few visitors who ask.
  const ring: Receipt[] = []
  const tokens: string[] = []
  const newToken = createRandomHex()
  let settled = 0
  const told: Told[] = [] // a ring too
  let seq = 0
  const waiting = new Set<() => void>()
  return { settle, end, find, newest: () => seq, after, next }

  function settle(receipt: Receipt): string {
    metrics.count(receipt)
    log.info({ receipt }, 'envelope')
    const token = newToken()
    const slot = settled++ % KEPT
    ring[slot] = receipt
    tokens[slot] = token
    tell(receipt)
    return token
  }

  function end(spoolEnd: SpoolEnd): void {
    metrics.countEnd(spoolEnd)
    log.info({ end: spoolEnd }, 'end')
    tell(spoolEnd)
  }

  function tell(one: Told): void {
    told[seq++ % KEPT_TOLD] = one
    for (const resolve of waiting) resolve()
  }

  function find(token: string): Receipt | undefined {
    const receipt = ring[tokens.indexOf(token)]
    return receipt && now() - receipt.time < TOKEN_MS ? receipt : undefined
  }

  function after(given: number, most: number): { first: number; told: Told[] } {
    const first = Math.max(given, seq - KEPT_TOLD) + 1
    const last = Math.min(seq, first + most - 1)
    const found: Told[] = []
    for (let number = first; number <= last; number++) {
      const one = told[(number - 1) % KEPT_TOLD]
      if (one) found.push(one)
    }
    return { first, told: found }
  }

  function next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
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
