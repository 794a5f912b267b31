/** Entries that are not pending, in streams of NATS JetStream: dead letters, and kept entries. */

import {
  DEAD_LETTER_LINES,
  DEAD_LETTER_MS,
  DEAD_LETTER_SHARE,
  type EndedEntry,
  type EndedFilter,
  type EndedPage,
  type EndedPlace,
  type EndedState,
  type Ending,
  type Entries,
  type EntryRef,
  type PutResult,
  type Resent,
  type SpoolBody,
  type SpoolBounds,
  type SpoolEntry,
  type StoredBody,
} from '../../pipeline/spool.ts'
import { type Summary, summariseStream } from '../entry-summary.ts'
import { WrongSize } from '../wrong-size.ts'
import { shiftTimes } from './codec.ts'
import { DEAD, EndedStream, type Found, KEPT, matches } from './ended-stream.ts'
import type { Server } from './nats-server.ts'
import { BodyGone, openBody } from './stream-reader.ts'

type Deps = Pick<SpoolBounds, 'addressShare' | 'projectShare' | 'kept'> & {
  server: Server
  /** Copies of each stream. */
  replicas: number
  /** Bound of the bytes of pending entries. */
  maxBytes: () => number
  /** Milliseconds since 1970, and by which the clock of the server is ahead. */
  now: () => number
  clockOffsetMs: () => number
  /** Stores a pending entry. */
  put: (entry: SpoolEntry, body: SpoolBody) => Promise<PutResult>
  /** Receives messages for the operator. */
  onNotice: (notice: string) => void
}

/** End of a delivery, with the state of its entry. */
export type End = Omit<Ending, 'state'> & { state: EndedState }

/** Kept entry with its summary, and the sequence of its message. */
export type Summarised = { entry: EndedEntry; summary: Summary; seq: number }

/** Subject of the numbers of kept entries that are removed. */
export const REMOVED = 'culvert.removed-kept'
const BODY_BYTES = 4 * 1024 // of the bound of bodies for each line
const MAX_RESENT = 100 // in one call
const MAX_PURGED = 5_000
const PURGED_AT_A_TIME = 50

export class StreamEntries implements Entries {
  /** Receives the number of each kept entry that this replica removes. Others receive it from the server. */
  onRemoved: (id: number) => void = () => {}
  readonly #deps: Deps
  readonly #kept: EndedStream
  readonly #streams: readonly EndedStream[]

  constructor(deps: Deps) {
    this.#deps = deps
    const { server, replicas, addressShare, projectShare, kept } = deps
    const shared = { replicas, addressShare, projectShare }
    const limits = () => {
      const bytes = deps.maxBytes() * DEAD_LETTER_SHARE
      return { bytes, lines: Math.min(DEAD_LETTER_LINES, Math.ceil(bytes / BODY_BYTES)) }
    }
    const dead = new EndedStream(server, DEAD, { ...shared, limits, ageMs: DEAD_LETTER_MS })
    const keptLimits = () => ({ bytes: kept?.bytes ?? 0, lines: Infinity })
    this.#kept = new EndedStream(server, KEPT, {
      ...{ ...shared, projectShare: 1 },
      ...{ limits: keptLimits, ageMs: kept?.ageMs },
    })
    this.#kept.onRemoved = (seq) => {
      const id = this.#idOf(this.#kept, { seq })
      this.onRemoved(id)
      server.nc.publish(REMOVED, String(id))
    }
    this.#streams = [dead, this.#kept]
  }

  async keep(entry: SpoolEntry, body: SpoolBody, ending: Ending): Promise<'stored' | 'known' | 'too-large'> {
    if (await this.#kept.find(entry)) return 'known'
    return this.#add(shiftTimes(entry, this.#deps.clockOffsetMs()), body, ending)
  }

  /** Copies a pending entry whose times are those of the server. Notes the end of a copy at the kept entry. */
  async end(entry: SpoolEntry, body: SpoolBody | undefined, ending: End): Promise<void> {
    const kept = await this.#kept.find(entry)
    if (kept) await this.#kept.note(kept, { status: ending.status, answer: ending.answer })
    else await this.#add(entry, body, ending)
  }

  async list(filter: EndedFilter, { limit, after }: EndedPage): Promise<EndedEntry[]> {
    const to = Math.min(filter.to ?? Infinity, after?.ended ?? Infinity)
    const pages = this.#streams.map(async (stream) => {
      const page: EndedEntry[] = []
      for await (const found of this.#select(stream, { ...filter, to }, 'newest')) {
        if (page.length === limit) break
        const entry = this.#toEnded(stream, found)
        if (!after || entry.ended < after.ended || entry.id < after.id) page.push(entry)
      }
      return page
    })
    const found = (await Promise.all(pages)).flat()
    return found.sort((a, b) => b.ended - a.ended || b.id - a.id).slice(0, limit)
  }

  async count(filter: EndedFilter, limit = Infinity): Promise<{ entries: number; bytes: number }> {
    const total = { entries: 0, bytes: 0 }
    for (const stream of this.#streams)
      for await (const { isStored, bytes } of this.#select(stream, filter, 'oldest')) {
        if (!isStored) continue
        if (total.entries === limit) break
        total.entries++
        total.bytes += bytes
      }
    return total
  }

  async read(entry: EndedEntry): Promise<StoredBody> {
    const stream = this.#streamOf(entry)
    const found = await this.#get(stream, entry)
    if (!found?.isStored) throw new BodyGone()
    return openBody(found.chunks === 1, () => stream.body(found))
  }

  /** After a failure it returns what is pending by then, since each has its final outcome only now. */
  async resend(filter: EndedFilter, limit: number, after?: EndedPlace): Promise<Resent> {
    const resent: Resent = { entries: [], isOver: true, hasLeft: false }
    try {
      for await (const { stream, found } of this.#resendable(filter, after)) {
        resent.isOver = false
        if (resent.entries.length >= Math.min(limit, MAX_RESENT)) break
        const entry = await this.#resendOne(stream, found)
        if (entry === 'full') resent.hasLeft = true
        else if (entry) resent.entries.push(entry)
        resent.after = { ended: found.ended, id: this.#idOf(stream, found) }
      }
    } catch (error) {
      if (resent.entries.length === 0) throw error
    }
    return resent
  }

  /** Returns a kept entry by its number. */
  async numbered(id: number): Promise<EndedEntry | undefined> {
    const found = await this.#kept.get(this.#seqOf({ id }))
    return found && this.#toEnded(this.#kept, found)
  }

  /** Returns a number that is not above that of any kept entry. */
  async firstKept(): Promise<number> {
    return this.#idOf(this.#kept, { seq: await this.#kept.firstSeq() })
  }

  /** Yields the kept entries with their summaries: from a sequence on, or the newest first. */
  async *summarised(seq?: number): AsyncGenerator<Summarised> {
    for await (const found of seq === undefined ? this.#kept.newest({}) : this.#kept.oldest({}, seq)) {
      const { summary } = found
      if (summary) yield { entry: this.#toEnded(this.#kept, found), summary, seq: found.seq }
    }
  }

  async #add(
    entry: SpoolEntry,
    body: SpoolBody | undefined,
    ending: End,
  ): Promise<'stored' | 'known' | 'too-large'> {
    const stream = this.#streams.find(({ kind }) => kind.states.includes(ending.state)) ?? this.#kept
    const line = { ...spoolEntryOf(entry), ...ending }
    if (stream !== this.#kept || !body) return stream.add(line, body)
    return stream.add({ ...line, summary: await summariseStream(entry, body.chunks()) }, body)
  }

  /** Yields the entries with a body behind a place, stream by stream. */
  async *#resendable(
    filter: EndedFilter,
    after?: EndedPlace,
  ): AsyncGenerator<{ stream: EndedStream; found: Found }> {
    const first = after ? this.#streamOf(after) : undefined
    for (const stream of first ? this.#streams.slice(this.#streams.indexOf(first)) : this.#streams) {
      const seq = after && stream === first ? this.#seqOf(after) + 1 : undefined
      for await (const found of this.#select(stream, filter, 'oldest', seq))
        if (found.isStored) yield { stream, found }
    }
  }

  /** Makes an entry pending before it is removed here, or noted. Returns `undefined` for one that is pending already, or whose body was cut. */
  async #resendOne(stream: EndedStream, found: Found): Promise<SpoolEntry | 'full' | undefined> {
    const entry = { ...spoolEntryOf(this.#toEnded(stream, found)), resent: this.#deps.now() }
    try {
      const { kind } = await this.#deps.put(entry, { chunks: () => stream.body(found) })
      if (kind === 'full') return 'full'
      if (stream === this.#kept) await stream.note(found, { resent: this.#ahead(entry.resent) })
      else await stream.remove(found)
      return kind === 'stored' ? entry : undefined
    } catch (error) {
      if (error instanceof WrongSize) this.#deps.onNotice(error.message)
      else if (!(error instanceof BodyGone)) throw error // another replica has resent it
      return undefined
    }
  }

  async purge(filter: EndedFilter): Promise<number> {
    const chosen: { stream: EndedStream; found: Found }[] = []
    for (const stream of this.#streams)
      for await (const found of this.#select(stream, filter, 'oldest')) {
        if (chosen.length === MAX_PURGED) break
        chosen.push({ stream, found })
      }
    for (let at = 0; at < chosen.length; at += PURGED_AT_A_TIME)
      await Promise.all(
        chosen.slice(at, at + PURGED_AT_A_TIME).map(({ stream, found }) => stream.remove(found)),
      )
    return chosen.length
  }

  /** Yields the entries of a stream that match a filter, whose times are those of this machine. */
  async *#select(
    stream: EndedStream,
    filter: EndedFilter,
    order: 'newest' | 'oldest',
    seq?: number,
  ): AsyncGenerator<Found> {
    const { from, to, notResentSince, entry } = filter
    const selected: EndedFilter = {
      ...filter,
      ...(from !== undefined && { from: this.#ahead(from) }),
      ...(to !== undefined && { to: this.#ahead(to) }),
      ...(notResentSince !== undefined && { notResentSince: this.#ahead(notResentSince) }),
    }
    const { states } = stream.kind
    if (!(filter.states?.some((state) => states.includes(state)) ?? true)) return
    if (!entry) yield* order === 'newest' ? stream.newest(selected) : stream.oldest(selected, seq)
    else if (this.#streamOf(entry) === stream) {
      const found = await this.#get(stream, entry)
      if (found && matches(found, selected)) yield found
    }
  }

  async #get(stream: EndedStream, { id, key }: EntryRef): Promise<Found | undefined> {
    const found = await stream.get(this.#seqOf({ id }))
    return found?.key === key ? found : undefined
  }

  #seqOf({ id }: Pick<EntryRef, 'id'>): number {
    return Math.floor(id / this.#streams.length)
  }

  #streamOf({ id }: Pick<EntryRef, 'id'>): EndedStream {
    return this.#streams[id % this.#streams.length] ?? this.#kept
  }

  #idOf(stream: EndedStream, { seq }: Pick<Found, 'seq'>): number {
    return seq * this.#streams.length + this.#streams.indexOf(stream)
  }

  #toEnded(stream: EndedStream, found: Found): EndedEntry {
    const { seq: _seq, body: _body, chunks: _chunks, summary: _summary, ...entry } = found
    const offsetMs = this.#deps.clockOffsetMs()
    return { ...shiftTimes(entry, -offsetMs), id: this.#idOf(stream, found), ended: entry.ended - offsetMs }
  }

  #ahead(time: number): number {
    return time + this.#deps.clockOffsetMs()
  }
}

/** Returns the fields of a pending entry. */
function spoolEntryOf(entry: SpoolEntry): SpoolEntry {
  const { key, project, category, priority, network, received, resent, bytes, receipt, eventId, headers } =
    entry
  return {
    ...{ key, project, category, priority, network },
    ...{ received, resent, bytes, receipt, eventId, headers },
  }
}
