/** The receipts of all replicas, and the ends of what was spooled, as one stream of events: resumed where the reader stood, and told of what is missing. */

import { setTimeout as wait } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { Receipt, SpoolOutcome } from 'tunnel/contract'
import { type Cursor, writeCursor } from './cursor.ts'
import { type Mark, MOST_ROWS, type Told } from './rows.ts'

export type FeedParts = {
  origins: () => Promise<string[]>
  /** The name of the replica there. */
  nameOf: (origin: string, signal: AbortSignal) => Promise<string>
  /** One request to an admin port. */
  ask: (url: string, init: RequestInit) => Promise<Response>
  /** Whether the reader may still read. */
  isWelcome: () => boolean
  now: () => number
}

/** Numbered as the replica that told it counts. */
type Heard = ({ receipt: Receipt } | { end: SpoolOutcome }) & { replica: string; number: number }
type Piece = Heard | { mark: Mark }
/** `opening`: how many of the newest it tells to a reader who has read nothing yet. */
type Followed = { stop: AbortController; failures: number; name?: string; opening?: number }

const LOOK_MS = 2_000 // for replicas that come and go
const AGAIN_MS = 1_000
const GATHER_MS = 100 // receipts that come together go together
const BUFFERED = 500
const HEARTBEAT_MS = 15_000
const SILENT_AFTER = 3 // tries
const ABSENT_AFTER = 3 // looks
const MOST_LOST = 100 // replicas of which is known that they ended or are silent

/** Reads no faster than it is read: a reader that sleeps is a position in each replica, and nothing here grows. */
export function streamFeed(parts: FeedParts, from: Cursor): ReadableStream<Uint8Array> {
  const { origins, nameOf, ask, isWelcome, now } = parts
  const gone = new AbortController()
  const at = new Map(from)
  const followed = new Map<string, Followed>()
  const lost = new Map<string, 'ended' | 'silent'>()
  const text = new TextEncoder()
  let pieces: Piece[] = []
  let wakeReader = () => {}
  let wakeWriters: (() => void)[] = []

  return new ReadableStream(
    {
      start(controller) {
        controller.enqueue(text.encode(': welcome\n\n'))
        void keepLooking()
      },
      async pull(controller) {
        if (pieces.length === 0) {
          await Promise.race([
            new Promise<void>((resolve) => {
              wakeReader = resolve
            }),
            wait(HEARTBEAT_MS, undefined, { ref: false }),
          ])
          await wait(GATHER_MS)
        }
        if (gone.signal.aborted) return
        if (!isWelcome()) {
          leave()
          controller.close()
          return
        }
        controller.enqueue(text.encode(pieces.length > 0 ? tell() : ': still here\n\n'))
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )

  function leave(): void {
    gone.abort()
    for (const { stop } of followed.values()) stop.abort()
    wakeReader()
    for (const wake of wakeWriters) wake()
  }

  /** All that has come, as one event whose id says where the reader stands after it. */
  function tell(): string {
    const told = pieces
    pieces = []
    const writers = wakeWriters
    wakeWriters = []
    for (const wake of writers) wake()
    const event: Told = { receipts: [], ends: [], marks: [] }
    for (const piece of told)
      if ('mark' in piece) event.marks.push(piece.mark)
      else {
        if ('end' in piece) event.ends.push(piece.end)
        else event.receipts.push(piece.receipt)
        at.set(piece.replica, piece.number)
      }
    const standing = [...at].filter(([name]) => lost.get(name) !== 'ended')
    return `id: ${writeCursor(new Map(standing))}\ndata: ${JSON.stringify(event)}\n\n`
  }

  async function push(piece: Piece): Promise<void> {
    while (pieces.length >= BUFFERED && !gone.signal.aborted)
      await new Promise<void>((resolve) => {
        wakeWriters.push(resolve)
      })
    pieces.push(piece)
    wakeReader()
  }

  async function keepLooking(): Promise<void> {
    let isOpening = from.size === 0
    for (let looks = 1; !gone.signal.aborted; looks++) {
      const found = await origins().catch(() => [...followed.keys()])
      const opening = isOpening ? Math.ceil(MOST_ROWS / found.length) : undefined
      isOpening &&= found.length === 0
      for (const origin of found) if (!followed.has(origin)) follow(origin, opening)
      for (const [origin, { stop, name }] of followed)
        if (!found.includes(origin)) {
          stop.abort()
          followed.delete(origin)
          if (name) mark('ended', name)
        }
      if (looks >= ABSENT_AFTER) markAbsent()
      await wait(LOOK_MS, undefined, { signal: gone.signal }).catch(() => {})
    }
  }

  /** Those that the reader knew and that nobody is any more. They ended while nobody read, or one of them is whoever does not answer. */
  function markAbsent(): void {
    const all = [...followed.values()]
    const nameless = all.filter(({ name }) => name === undefined)
    if (nameless.some(({ failures }) => failures < SILENT_AFTER)) return // it may be one of those
    for (const name of at.keys())
      if (!all.some((its) => its.name === name)) mark(nameless.length > 0 ? 'silent' : 'ended', name)
  }

  /** Once for each time that one is lost; where it stood is remembered, for it may come back. */
  function mark(kind: 'ended' | 'silent' | 'back', replica: string): void {
    const before = lost.get(replica)
    if (kind === 'back' ? !before : before === kind || before === 'ended') return
    lost.delete(replica)
    if (kind !== 'back') lost.set(replica, kind)
    const [oldest] = lost.keys()
    if (lost.size > MOST_LOST && oldest !== undefined) {
      lost.delete(oldest)
      at.delete(oldest)
    }
    pieces.push({ mark: { kind, replica, time: now() } })
    wakeReader()
  }

  function follow(origin: string, opening: number | undefined): void {
    const stop = new AbortController()
    const its: Followed = { stop, failures: 0, ...(opening !== undefined && { opening }) }
    followed.set(origin, its)
    void keepReading(origin, its, AbortSignal.any([gone.signal, stop.signal]))
  }

  async function keepReading(origin: string, its: Followed, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const name = await nameOf(origin, signal)
        if (its.name && its.name !== name) mark('ended', its.name)
        mark('back', name)
        its.name = name
        its.failures = 0
        await read(origin, name, its.opening, signal)
      } catch {
        if (++its.failures >= SILENT_AFTER && its.name && !signal.aborted) mark('silent', its.name)
      }
      await wait(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }

  async function read(
    origin: string,
    name: string,
    opening: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const last = standingOf(name)
    const response =
      last === undefined && opening !== undefined
        ? await ask(`${origin}/receipts?newest=${opening}`, { signal })
        : await ask(`${origin}/receipts`, { signal, headers: { 'last-event-id': `${name}:${last ?? 0}` } })
    if (!response.ok || !response.body) throw new Error(`${origin} answered ${response.status}`)
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
    let missed = 0
    for await (const { id, event, data } of events) {
      if (signal.aborted) return
      if (event === 'gap') missed += JSON.parse(data).missed
      else if (event === 'receipt' || event === 'final_outcome') {
        const number = Number(id?.slice(id.lastIndexOf(':') + 1))
        const told: Receipt & SpoolOutcome = JSON.parse(data)
        if (missed > 0) await push({ mark: { kind: 'missed', replica: name, missed, time: told.time } })
        missed = 0
        await push({
          ...(event === 'final_outcome' ? { end: told } : { receipt: told }),
          replica: name,
          number,
        })
      }
    }
  }

  /** The number of the last that came of it, told already or about to be. */
  function standingOf(name: string): number | undefined {
    const pending = pieces.findLast((piece) => 'number' in piece && piece.replica === name)
    return pending && 'number' in pending ? pending.number : at.get(name)
  }
}
