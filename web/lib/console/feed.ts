/** The receipts of all replicas, and the ends of what was spooled, as one stream of events: resumed where the reader stood, and told of what is missing. */

import { setTimeout as wait } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { Receipt, SpoolEnd } from 'tunnel/contract'
import { type Cursor, writeCursor } from './cursor.ts'

/** One event of the stream. An end may come before its receipt: another replica may have told it. */
export type Told = { receipts: Receipt[]; ends: SpoolEnd[]; marks: Mark[] }

/**
 * What is missing or may be: receipts and ends that a replica no longer kept; what one that ended had not told yet; and that one does not
 * answer, or does again with nothing lost.
 */
export type Mark =
  | { kind: 'missed'; replica: string; missed: number; time: number }
  | { kind: 'ended' | 'silent' | 'back'; replica: string; time: number }

export type FeedParts = {
  origins: () => Promise<string[]>
  /** The name of the replica there. */
  nameOf: (origin: string, signal: AbortSignal) => Promise<string>
  /** What it told after `lastId`, as server-sent events. */
  open: (origin: string, lastId: string, signal: AbortSignal) => Promise<Response>
  /** Whether the reader may still read. */
  isWelcome: () => boolean
  now: () => number
}

/** Numbered as the replica that told it counts. */
type Heard = ({ receipt: Receipt } | { end: SpoolEnd }) & { replica: string; number: number }
type Piece = Heard | { mark: Mark }

const LOOK_MS = 2_000 // for replicas that come and go
const AGAIN_MS = 1_000
const GATHER_MS = 100 // receipts that come together go together
const BUFFERED = 500
const HEARTBEAT_MS = 15_000
const SILENT_AFTER = 3 // tries

/** Reads no faster than it is read: a reader that sleeps is a position in each replica, and nothing here grows. */
export function streamFeed(parts: FeedParts, from: Cursor): ReadableStream<Uint8Array> {
  const { origins, nameOf, open, isWelcome, now } = parts
  const gone = new AbortController()
  const at = new Map(from)
  const followed = new Map<string, { stop: AbortController; name?: string }>()
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
      if ('mark' in piece) {
        event.marks.push(piece.mark)
        if (piece.mark.kind === 'ended') at.delete(piece.mark.replica)
      } else {
        if ('end' in piece) event.ends.push(piece.end)
        else event.receipts.push(piece.receipt)
        at.set(piece.replica, piece.number)
      }
    return `id: ${writeCursor(at)}\ndata: ${JSON.stringify(event)}\n\n`
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
    for (let looks = 0; !gone.signal.aborted; looks++) {
      const found = await origins().catch(() => [...followed.keys()])
      for (const origin of found) if (!followed.has(origin)) follow(origin)
      for (const [origin, { stop, name }] of followed)
        if (!found.includes(origin)) {
          stop.abort()
          followed.delete(origin)
          if (name) await mark('ended', name)
        }
      if (looks === 2) await markAbsent()
      await wait(LOOK_MS, undefined, { signal: gone.signal }).catch(() => {})
    }
  }

  /** Those that the reader knew and that nobody is any more: they ended while nobody read. */
  async function markAbsent(): Promise<void> {
    const names = [...followed.values()].map(({ name }) => name)
    if (names.includes(undefined)) return // it may be one of those
    for (const name of from.keys()) if (at.has(name) && !names.includes(name)) await mark('ended', name)
  }

  async function mark(kind: 'ended' | 'silent' | 'back', replica: string): Promise<void> {
    await push({ mark: { kind, replica, time: now() } })
  }

  function follow(origin: string): void {
    const stop = new AbortController()
    const its: { stop: AbortController; name?: string } = { stop }
    followed.set(origin, its)
    void keepReading(origin, its, AbortSignal.any([gone.signal, stop.signal]))
  }

  async function keepReading(origin: string, its: { name?: string }, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        const name = await nameOf(origin, signal)
        if (its.name && its.name !== name) await mark('ended', its.name)
        if (its.name === name && failures >= SILENT_AFTER) await mark('back', name)
        its.name = name
        failures = 0
        await read(origin, name, signal)
      } catch {
        if (++failures === SILENT_AFTER && its.name && !signal.aborted) await mark('silent', its.name)
      }
      await wait(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }

  async function read(origin: string, name: string, signal: AbortSignal): Promise<void> {
    const pending = pieces.findLast((piece) => 'number' in piece && piece.replica === name)
    const last = pending && 'number' in pending ? pending.number : (at.get(name) ?? 0)
    const response = await open(origin, `${name}:${last}`, signal)
    if (!response.ok || !response.body) throw new Error(`${origin} answered ${response.status}`)
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
    for await (const { id, event, data } of events) {
      if (signal.aborted) return
      if (event === 'gap') {
        const { missed } = JSON.parse(data)
        await push({ mark: { kind: 'missed', replica: name, missed, time: now() } })
      } else if (event === 'receipt' || event === 'end') {
        const number = Number(id?.slice(id.lastIndexOf(':') + 1))
        const told = JSON.parse(data)
        await push({ ...(event === 'end' ? { end: told } : { receipt: told }), replica: name, number })
      }
    }
  }
}
