/** The fate of each envelope, settled once: counted, logged, and the last ones kept to look at. */

import { randomFillSync } from 'node:crypto'
import type { Logger } from 'pino'
import type { Receipt, SpoolEnd } from './contract.ts'
import type { Metrics } from './metrics.ts'

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

const KEPT = 2_000
const TOKENS_KEPT = 20_000
const TOKEN_MS = 10 * 60 * 1000

/** `now` in milliseconds since 1970. */
export function createReceipts(metrics: Metrics, log: Logger, now: () => number): Receipts {
  const ring: Receipt[] = []
  const byToken = new Map<string, Receipt>()
  const tokens: string[] = []
  const newToken = createTokens()
  let seq = 0
  const waiting = new Set<() => void>()
  return { settle, end, find, newest: () => seq, after, next }

  function settle(receipt: Receipt): string {
    metrics.count(receipt)
    log.info(receipt, 'envelope')
    ring[seq++ % KEPT] = receipt
    wake()
    return remember(receipt)
  }

  function end(spoolEnd: SpoolEnd): void {
    metrics.countEnd(spoolEnd)
    log.info(spoolEnd, 'end')
  }

  function wake(): void {
    for (const resolve of waiting) resolve()
  }

  /** A ring of tokens beside the map: asking a map for its oldest key walks over all that were deleted before. */
  function remember(receipt: Receipt): string {
    const token = newToken()
    const slot = seq % TOKENS_KEPT
    const replaced = tokens[slot]
    if (replaced) byToken.delete(replaced)
    tokens[slot] = token
    byToken.set(token, receipt)
    return token
  }

  function find(token: string): Receipt | undefined {
    const receipt = byToken.get(token)
    return receipt && now() - receipt.time < TOKEN_MS ? receipt : undefined
  }

  function after(given: number): { first: number; receipts: Receipt[] } {
    const first = Math.max(given, seq - KEPT) + 1
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

const TOKEN_BYTES = 16
const POOL_TOKENS = 256

/** 128 random bits each, drawn many at a time since every draw is a system call. */
function createTokens(): () => string {
  const pool = Buffer.alloc(TOKEN_BYTES * POOL_TOKENS)
  let used = POOL_TOKENS
  return function newToken() {
    if (used === POOL_TOKENS) {
      randomFillSync(pool)
      used = 0
    }
    const start = used++ * TOKEN_BYTES
    return pool.toString('hex', start, start + TOKEN_BYTES)
  }
}
