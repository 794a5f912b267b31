/** Record of every outcome: counted, logged, streamed, and kept for a while. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Receipt, SpoolOutcome } from 'contract/admin-api'
import type { Counters } from './counters.ts'
import type { Log } from './log.ts'
import { HEX_LENGTH, randomHex } from './random-hex.ts'
import { RingBuffer } from './ring-buffer.ts'

/** Receipt, or final outcome of a spooled envelope, as JSON. */
export type FeedEvent = { event: 'receipt' | 'final_outcome'; json: string }

/** Consecutive events; `first` is the number of the first one. */
type FeedPage = { first: number; events: FeedEvent[] }

/** All that is kept of an event, and the time since which nothing was dropped. */
type EventRecord = { receipts: Receipt[]; finalOutcomes: SpoolOutcome[]; since: number }

/** Enough for 66 ordinary envelopes a second in ten minutes. */
const BOUNDS = { entries: 40_000, bytes: 16 * 1024 * 1024 }
const SEARCHED = 500 // events in one turn of the event loop
const MAX_FOUND = 100 // receipts, and final outcomes, of an event
const TOKEN = /^[0-9a-f]{32}$/
const TOKEN_MS = 10 * 60 * 1000

/** Serializes each event once, for the log and for all later readers. */
export class Receipts {
  readonly #counters: Pick<Counters, 'count' | 'countFinalOutcome'>
  readonly #log: Pick<Log, 'recordEvent'>
  readonly #now: () => number
  readonly #startedAt: number
  readonly #events = new RingBuffer(BOUNDS)
  /** Tokens of the receipts, one after the other: a map would cost every envelope more than a search costs the few visitors. */
  readonly #tokens = Buffer.alloc(BOUNDS.entries * HEX_LENGTH)
  readonly #waiters = new Set<() => void>()

  /** `now` is in milliseconds since 1970. */
  constructor(
    counters: Pick<Counters, 'count' | 'countFinalOutcome'>,
    log: Pick<Log, 'recordEvent'>,
    now: () => number,
  ) {
    this.#counters = counters
    this.#log = log
    this.#now = now
    this.#startedAt = now()
  }

  /** Records the outcome of an envelope. Returns the token by which its sender finds the receipt. */
  record(receipt: Receipt): string {
    this.#counters.count(receipt)
    const token = randomHex()
    this.#tokens.write(token, this.#add('receipt', receipt), 'latin1')
    this.#wake()
    return token
  }

  recordFinalOutcome(spoolOutcome: SpoolOutcome): void {
    this.#counters.countFinalOutcome(spoolOutcome)
    const offset = this.#add('final_outcome', spoolOutcome)
    this.#tokens.fill(0, offset, offset + HEX_LENGTH)
    this.#wake()
  }

  /** Finds a receipt by its token, for 10 minutes at most. */
  find(token: string): Receipt | undefined {
    if (!TOKEN.test(token)) return undefined // final outcomes have zeros
    let offset = this.#tokens.indexOf(token, 0, 'latin1')
    while (offset % HEX_LENGTH > 0) offset = this.#tokens.indexOf(token, offset + 1, 'latin1')
    const number = this.#numberAt(offset)
    if (offset < 0 || number < this.#events.oldest()) return undefined
    const receipt: Receipt = JSON.parse(this.#events.read(number))
    return this.#now() - receipt.time < TOKEN_MS ? receipt : undefined
  }

  /** Returns the receipts and final outcomes of an event, newest first, with the time since which all are kept. Yields to other work meanwhile. */
  async ofEvent(eventId: string): Promise<EventRecord> {
    const receipts: Receipt[] = []
    const finalOutcomes: SpoolOutcome[] = []
    const isDropping = this.#events.oldest() > 1
    const { time = this.#startedAt } = isDropping ? JSON.parse(this.#events.read(this.#events.oldest())) : {}
    for (let number = this.#events.newest(); number >= this.#events.oldest(); number--) {
      if (number % SEARCHED === 0) await nextTurn()
      const json = this.#events.read(number)
      if (!json.includes(eventId)) continue
      const event: Receipt & SpoolOutcome = JSON.parse(json)
      const found = this.#isFinalOutcome(number) ? finalOutcomes : receipts
      if (event.event_id === eventId && found.length < MAX_FOUND) found.push(event)
    }
    return { receipts, finalOutcomes, since: time }
  }

  /** Returns the number of the newest event. Numbers start at 1. */
  newest(): number {
    return this.#events.newest()
  }

  /** Returns up to `limit` events after `number`, as far as they are kept. */
  after(number: number, limit: number): FeedPage {
    const first = Math.max(number + 1, this.#events.oldest())
    const last = Math.min(this.#events.newest(), first + limit - 1)
    const events: FeedEvent[] = []
    for (let each = first; each <= last; each++) {
      const event = this.#isFinalOutcome(each) ? 'final_outcome' : 'receipt'
      events.push({ event, json: this.#events.read(each) })
    }
    return { first, events }
  }

  /** Resolves at the next event, or at the signal. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const done = () => {
        this.#waiters.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiters.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** Returns the offset of the event's token. */
  #add(event: FeedEvent['event'], content: Receipt | SpoolOutcome): number {
    const json = JSON.stringify(content)
    this.#log.recordEvent(event, json)
    return this.#offsetOf(this.#events.add(json))
  }

  #isFinalOutcome(number: number): boolean {
    return this.#tokens[this.#offsetOf(number)] === 0
  }

  #offsetOf(number: number): number {
    return ((number - 1) % BOUNDS.entries) * HEX_LENGTH
  }

  #numberAt(offset: number): number {
    const newest = this.#events.newest()
    const back = (this.#offsetOf(newest) - offset) / HEX_LENGTH
    return newest - ((back + BOUNDS.entries) % BOUNDS.entries)
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve()
  }
}
