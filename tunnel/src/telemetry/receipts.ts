/** The outcome of each envelope, settled once: counted, logged, told to who follows, and the last ones kept to look at. */

import type { OutcomeTime, Receipt, SpoolOutcome } from '../contract.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createOutcomeTimes } from './outcome-times.ts'
import { HEX_LENGTH, randomHex } from './random-hex.ts'
import { createRingBuffer } from './ring-buffer.ts'

export type Receipts = {
  /** Settles an envelope, and gives the token by which its sender may look it up. */
  record(receipt: Receipt): string
  /** Tells how waiting in the spool ended. */
  recordFinalOutcome(end: SpoolOutcome): void
  /** What a visitor's token stands for, for 10 minutes, or as long as it is kept: on a busy site that is less. */
  find(token: string): Receipt | undefined
  /** The number of the newest that was told, a receipt or an end; they count from 1. */
  newest(): number
  /** Those after number `seq`, as far as they are kept and at most so many, with the number of the first. */
  after(seq: number, most: number): { first: number; told: FeedEvent[] }
  /** Resolves when the next one is told, or at the signal. */
  next(signal: AbortSignal): Promise<void>
  /** When envelopes were kept from Sentry. */
  times(): OutcomeTime[]
}

/** What those hear who follow: how an envelope was answered, or how its waiting ended where it was spooled. The text is the JSON of it. */
export type FeedEvent = { event: 'receipt' | 'final_outcome'; json: string }

/** For whoever has a token, and for whoever follows: 66 envelopes a second for ten minutes, if they are like most. */
const KEPT = { entries: 40_000, bytes: 16 * 1024 * 1024 }
const TOKEN = /^[0-9a-f]{32}$/
const TOKEN_MS = 10 * 60 * 1000

/** `now` in milliseconds since 1970. Each is made a text once, for the log and for all who look at it later. */
export function createReceipts(metrics: Metrics, { tell }: Pick<Log, 'tell'>, now: () => number): Receipts {
  const ringBuffer = createRingBuffer(KEPT)
  const tokens = Buffer.alloc(KEPT.entries * HEX_LENGTH) // of receipts; ends have none
  const waiting = new Set<() => void>()
  const times = createOutcomeTimes(now)
  return {
    record: settle,
    recordFinalOutcome: end,
    find,
    newest: ringBuffer.newest,
    after,
    next,
    times: times.all,
  }

  function settle(receipt: Receipt): string {
    metrics.count(receipt)
    times.note('answered', receipt.outcome, receipt.reason)
    const json = JSON.stringify(receipt)
    tell('receipt', json)
    const token = randomHex()
    tokens.write(token, placeOf(ringBuffer.add(json)), 'latin1')
    wake()
    return token
  }

  function end(spoolOutcome: SpoolOutcome): void {
    metrics.countFinalOutcome(spoolOutcome)
    times.note('waited', spoolOutcome.final_outcome)
    const json = JSON.stringify(spoolOutcome)
    tell('final_outcome', json)
    const place = placeOf(ringBuffer.add(json))
    tokens.fill(0, place, place + HEX_LENGTH)
    wake()
  }

  function placeOf(number: number): number {
    return ((number - 1) % KEPT.entries) * HEX_LENGTH
  }

  function wake(): void {
    for (const resolve of waiting) resolve()
  }

  /** A map of tokens would cost every envelope more than a look along them costs the few visitors who ask. */
  function find(token: string): Receipt | undefined {
    if (!TOKEN.test(token)) return undefined // a row of zeros is the place of an end
    let place = tokens.indexOf(token, 0, 'latin1')
    while (place % HEX_LENGTH > 0) place = tokens.indexOf(token, place + 1, 'latin1')
    const number = numberAt(place)
    if (place < 0 || number < ringBuffer.oldest()) return undefined
    const receipt: Receipt = JSON.parse(ringBuffer.read(number))
    return now() - receipt.time < TOKEN_MS ? receipt : undefined
  }

  function numberAt(place: number): number {
    const newest = ringBuffer.newest()
    const back = (placeOf(newest) - place) / HEX_LENGTH
    return newest - ((back + KEPT.entries) % KEPT.entries)
  }

  function after(given: number, most: number): { first: number; told: FeedEvent[] } {
    const first = Math.max(given + 1, ringBuffer.oldest())
    const last = Math.min(ringBuffer.newest(), first + most - 1)
    const told: FeedEvent[] = []
    for (let number = first; number <= last; number++)
      told.push({
        event: tokens[placeOf(number)] === 0 ? 'final_outcome' : 'receipt',
        json: ringBuffer.read(number),
      })
    return { first, told }
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
