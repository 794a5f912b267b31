/** Stream of the receipts and final outcomes of all replicas. It resumes where the reader stopped, and names gaps. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Receipt, SpoolOutcome } from 'contract/admin-api'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { type Cursor, writeCursor } from './cursor.ts'
import { type FeedEvent, type FeedNotice, MAX_ROWS } from './feed-rows.ts'

type FeedDeps = {
  origins: () => Promise<string[]>
  /** Returns the name of the replica at an origin. */
  nameOf: (origin: string) => Promise<string>
  /** Sends a request to an admin port. */
  ask: (url: string, init: RequestInit) => Promise<Response>
  isSignedIn: () => Promise<boolean>
  /** Milliseconds since 1970. */
  now: () => number
}

/** Entry of a replica's feed, with its number there. */
type Entry = ({ receipt: Receipt } | { finalOutcome: SpoolOutcome }) & { replica: string; number: number }
type Piece = Entry | { notice: FeedNotice }

/** Replica that is read. `newest`: how many receipts a reader without a position gets first. */
type Source = {
  origin: string
  stop: AbortController
  failures: number
  name?: string
  newest: number | undefined
}

const DISCOVER_MS = 2_000
const RETRY_MS = 1_000
const BATCH_MS = 100
const MAX_BUFFERED = 500
const HEARTBEAT_MS = 15_000
const UNRESPONSIVE_AFTER = 3 // attempts
const ABSENT_AFTER = 3 // rounds of discovery
const MAX_LOST = 100 // replicas

/** Reads the replicas no faster than it is read itself, so that a sleeping reader costs no memory. */
export function streamFeed(deps: FeedDeps, from: Cursor): ReadableStream<Uint8Array> {
  const feed = new Feed(deps, from)
  const text = new TextEncoder()
  return new ReadableStream(
    {
      start(controller) {
        controller.enqueue(text.encode(': welcome\n\n'))
        void feed.discover()
      },
      async pull(controller) {
        const event = await feed.next()
        if (event === undefined) return
        if (await deps.isSignedIn()) return controller.enqueue(text.encode(event))
        feed.close()
        controller.close()
      },
      cancel: () => feed.close(),
    },
    { highWaterMark: 0 },
  )
}

class Feed {
  readonly #deps: FeedDeps
  readonly #closed = new AbortController()
  /** Number of the last entry sent, by replica. */
  readonly #positions: Map<string, number>
  readonly #sources = new Map<string, Source>()
  readonly #lost = new Map<string, 'stopped' | 'unresponsive'>()
  #isOpening: boolean
  #pieces: Piece[] = []
  #wakeReader = () => {}
  #wakeWriters: (() => void)[] = []

  constructor(deps: FeedDeps, from: Cursor) {
    this.#deps = deps
    this.#positions = new Map(from)
    this.#isOpening = from.size === 0
  }

  /** Waits for entries, and returns them as one server-sent event, or a heartbeat; `undefined` after the end. */
  async next(): Promise<string | undefined> {
    if (this.#pieces.length === 0) {
      const { promise: woken, resolve } = Promise.withResolvers<void>()
      this.#wakeReader = resolve
      await Promise.race([woken, wait(HEARTBEAT_MS, undefined, { ref: false })])
      await wait(BATCH_MS)
    }
    if (this.#closed.signal.aborted) return undefined
    return this.#pieces.length > 0 ? this.#takeEvent() : ': still here\n\n'
  }

  close(): void {
    this.#closed.abort()
    for (const { stop } of this.#sources.values()) stop.abort()
    this.#wakeReader()
    for (const wake of this.#wakeWriters) wake()
  }

  /** Follows replicas that appear and stops reading those that disappear, until the end. */
  async discover(): Promise<void> {
    const { signal } = this.#closed
    for (let round = 1; !signal.aborted; round++) {
      const found = await this.#deps.origins().catch(() => [...this.#sources.keys()])
      const newest = this.#isOpening ? Math.ceil(MAX_ROWS / found.length) : undefined
      this.#isOpening &&= found.length === 0
      for (const origin of found) if (!this.#sources.has(origin)) this.#follow(origin, newest)
      for (const source of this.#sources.values()) if (!found.includes(source.origin)) this.#unfollow(source)
      if (round >= ABSENT_AFTER) this.#noticeAbsent()
      await wait(DISCOVER_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** The event's ID is the position after it. */
  #takeEvent(): string {
    const pieces = this.#pieces
    this.#pieces = []
    const writers = this.#wakeWriters
    this.#wakeWriters = []
    for (const wake of writers) wake()
    const event: FeedEvent = { receipts: [], finalOutcomes: [], notices: [] }
    for (const piece of pieces)
      if ('notice' in piece) event.notices.push(piece.notice)
      else {
        if ('finalOutcome' in piece) event.finalOutcomes.push(piece.finalOutcome)
        else event.receipts.push(piece.receipt)
        this.#positions.set(piece.replica, piece.number)
      }
    const positions = [...this.#positions].filter(([name]) => this.#lost.get(name) !== 'stopped')
    return `id: ${writeCursor(new Map(positions))}\ndata: ${JSON.stringify(event)}\n\n`
  }

  async #push(piece: Piece): Promise<void> {
    while (this.#pieces.length >= MAX_BUFFERED && !this.#closed.signal.aborted)
      await new Promise<void>((resolve) => {
        this.#wakeWriters.push(resolve)
      })
    this.#pieces.push(piece)
    this.#wakeReader()
  }

  #follow(origin: string, newest: number | undefined): void {
    const source: Source = { origin, stop: new AbortController(), failures: 0, newest }
    this.#sources.set(origin, source)
    void this.#keepReading(source, AbortSignal.any([this.#closed.signal, source.stop.signal]))
  }

  #unfollow({ origin, stop, name }: Source): void {
    stop.abort()
    this.#sources.delete(origin)
    if (name) this.#notice('stopped', name)
  }

  async #keepReading(source: Source, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const name = await this.#deps.nameOf(source.origin)
        if (source.name && source.name !== name) this.#notice('stopped', source.name)
        this.#notice('recovered', name)
        source.name = name
        source.failures = 0
        await this.#read(source, name, signal)
      } catch {
        if (++source.failures >= UNRESPONSIVE_AFTER && source.name && !signal.aborted)
          this.#notice('unresponsive', source.name)
      }
      await wait(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #read({ origin, newest }: Source, replica: string, signal: AbortSignal): Promise<void> {
    const response = await this.#request(origin, replica, newest, signal)
    if (!response.ok || !response.body) throw new Error(`${origin} responded with ${response.status}`)
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
    let missed = 0
    for await (const { id, event, data } of events) {
      if (signal.aborted) return
      if (event === 'gap') missed += JSON.parse(data).missed
      else if (event === 'receipt' || event === 'final_outcome') {
        const number = Number(id?.slice(id.lastIndexOf(':') + 1))
        const entry: Receipt & SpoolOutcome = JSON.parse(data)
        if (missed > 0) await this.#push({ notice: { kind: 'missed', replica, missed, time: entry.time } })
        missed = 0
        const content = event === 'final_outcome' ? { finalOutcome: entry } : { receipt: entry }
        await this.#push({ ...content, replica, number })
      }
    }
  }

  #request(
    origin: string,
    replica: string,
    newest: number | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const position = this.#positionOf(replica)
    if (position === undefined && newest !== undefined)
      return this.#deps.ask(`${origin}/receipts?newest=${newest}`, { signal })
    const headers = { 'last-event-id': `${replica}:${position ?? 0}` }
    return this.#deps.ask(`${origin}/receipts`, { signal, headers })
  }

  /** Returns the number of the last entry of a replica, whether sent or buffered. */
  #positionOf(replica: string): number | undefined {
    const buffered = this.#pieces.findLast((piece) => 'number' in piece && piece.replica === replica)
    return buffered && 'number' in buffered ? buffered.number : this.#positions.get(replica)
  }

  /** Notices replicas of the reader's position that no source is. They stopped, or a source that does not respond is one of them. */
  #noticeAbsent(): void {
    const sources = [...this.#sources.values()]
    const unnamed = sources.filter(({ name }) => name === undefined)
    if (unnamed.some(({ failures }) => failures < UNRESPONSIVE_AFTER)) return // the name may still become known
    for (const replica of this.#positions.keys())
      if (!sources.some(({ name }) => name === replica))
        this.#notice(unnamed.length > 0 ? 'unresponsive' : 'stopped', replica)
  }

  /** Sends a notice once per loss. The position is kept, since the replica may come back. */
  #notice(kind: 'stopped' | 'unresponsive' | 'recovered', replica: string): void {
    const before = this.#lost.get(replica)
    if (kind === 'recovered' ? !before : before === kind || before === 'stopped') return
    this.#lost.delete(replica)
    if (kind !== 'recovered') this.#lost.set(replica, kind)
    const [oldest] = this.#lost.keys()
    if (this.#lost.size > MAX_LOST && oldest !== undefined) {
      this.#lost.delete(oldest)
      this.#positions.delete(oldest)
    }
    this.#pieces.push({ notice: { kind, replica, time: this.#deps.now() } })
    this.#wakeReader()
  }
}
