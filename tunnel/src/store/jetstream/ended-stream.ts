/** Stream of entries that are not pending, and that of their bodies. The server drops the oldest messages of both. */

import { DiscardPolicy, type JsMsg, type StoredMsg } from '@nats-io/jetstream'
import { nanos, headers as newHeaders, type Payload } from '@nats-io/transport-node'
import { BoundedMap } from '../../pipeline/bounded-map.ts'
import { once } from '../../pipeline/once.ts'
import type {
  EndedEntry,
  EndedFilter,
  EndedState,
  EntryRef,
  SpoolBody,
  SpoolEntry,
} from '../../pipeline/spool.ts'
import { BodyGone, WrongSize } from '../body-errors.ts'
import type { Summary } from '../entry-summary.ts'
import { encodeToken, HEADER, NONE, storedBytes, toAscii } from './codec.ts'
import { isGone, type Server } from './nats-server.ts'
import { type Counted, type Limits, NetworkUsage } from './network-usage.ts'
import type { ServerClock } from './server-clock.ts'
import { type Range, readBackwards, readForwards } from './stream-reader.ts'
import { codeOf, ensureStream, KEPT_STREAM, NO_STREAM, WRONG_SEQUENCE } from './streams.ts'

/** Place of a body: its messages, the first at the sequence `body`. */
type BodyPlace = { body?: number; chunks?: number }

/** Entry as a message holds it, in one header. Kept ones have a summary. */
type Line = SpoolEntry &
  BodyPlace & {
    state: EndedState
    status?: number | undefined
    answer?: string | undefined
    summary?: Summary
  }

/** Entry that was read. */
export type Found = EndedEntry & Pick<Line, 'body' | 'chunks' | 'summary'>

/** Changes of a kept entry: its message cannot be changed. */
export type Note = Pick<Line, 'resent' | 'status' | 'answer'>

type StoredNote = Note & { seq: number }
type Query = { seq: number } | { last_by_subj: string }
type Named = Pick<SpoolEntry, 'key' | 'project' | 'eventId'>

/** Streams of entries in some states. Of a dead letter the line stays when its body is dropped; a kept entry goes as a whole. */
export type Kind = {
  index: number
  subject: string
  stream: string
  bodies: string
  states: readonly EndedState[]
}

export const DEAD: Kind = {
  index: 0,
  subject: 'dead',
  stream: 'CULVERT_DEAD_LETTERS',
  bodies: 'CULVERT_DEAD_LETTER_BODIES',
  states: ['declined', 'expired', 'evicted'],
}
export const KEPT: Kind = {
  index: 1,
  subject: 'kept',
  stream: KEPT_STREAM,
  bodies: KEPT_STREAM,
  states: ['kept'],
}
const KINDS = [DEAD, KEPT]

type EndedDeps = {
  server: Server
  clock: ServerClock
  kind: Kind
  /** Share of the limits that one client address may fill. */
  addressShare: number
  /** Number of entries, and bytes that they take. */
  limits: () => Limits
  /** Absent on a replica that keeps no entries: it leaves the stream with the bounds of others. */
  ageMs: number | undefined
  /** Copies of each stream. */
  replicas: number
}

const CHUNK_BYTES = 512 * 1024
const LINE_BYTES = 4 * 1024 // of a long line
const MESSAGES_OF_KEPT = 3 // the line, a body of one chunk, and a note
const PUBLISH_MS = 1_000
const MAX_NOTES = 100_000
const REMOVED_AT_A_TIME = 100
const LAST_TIME = Date.UTC(9999)
const NOT_STORED = -1
const READ_AGAIN = 100 // times the duration of the last reading

/** Returns the kind of an entry by its number. */
export function kindOf({ id }: Pick<EntryRef, 'id'>): Kind {
  return KINDS[id % KINDS.length] ?? KEPT
}

export class EndedStream {
  readonly kind: Kind
  /** Receives the number of each entry that this replica removes. */
  onRemoved: (id: number) => void = () => {}
  readonly #deps: EndedDeps
  readonly #server: Server
  readonly #notes = new BoundedMap<string, StoredNote>(MAX_NOTES)
  #notesRead = 0
  readonly #usage: NetworkUsage
  #opening: Promise<unknown> | undefined
  #countDue = -Infinity
  /** Reads the lines again from time to time: other replicas and the server change them, too. */
  readonly #count = once(() => this.#countAll())

  constructor(deps: EndedDeps) {
    this.#deps = deps
    this.#server = deps.server
    this.kind = deps.kind
    this.#usage = new NetworkUsage(deps.limits, deps.addressShare)
  }

  /**
   * Stores an entry, and before it the body. Replaces a dead letter with the same key. Of one whose body is larger than a share, only the line
   * stays.
   */
  async add(line: Line, body: SpoolBody | undefined): Promise<'stored' | 'known' | 'too-large'> {
    if (performance.now() >= this.#countDue) await this.#count().catch(() => undefined) // a later call counts them
    const bytes = storedBytes(line)
    const hasRoom = body !== undefined && bytes <= this.#usage.maxBytes(line)
    if (!hasRoom && this.kind === KEPT) return 'too-large'
    const { key, network } = line
    const counted = { key, network, bytes: hasRoom ? bytes : 0, id: NOT_STORED }
    await this.#makeRoom(counted)
    const stored = hasRoom ? { ...line, ...(await this.#putBody(key, body)) } : { ...line, headers: [] }
    try {
      counted.id = this.#idOf(await this.#publish(this.#subjectOf(line), stored, this.kind === KEPT))
      return hasRoom ? 'stored' : 'too-large'
    } catch (error) {
      if (codeOf(error) !== WRONG_SEQUENCE) throw error
      return (await this.find(line))?.body === stored.body ? 'stored' : 'known' // the first response was lost
    }
  }

  /** Finds the entry with the key of another one. */
  find(entry: Named): Promise<Found | undefined> {
    return this.#readOne({ last_by_subj: this.#subjectOf(entry) })
  }

  async get({ id, key }: { id: number; key?: string }): Promise<Found | undefined> {
    if (kindOf({ id }) !== this.kind) return undefined
    const found = await this.#readOne({ seq: seqOf(id) })
    return key === undefined || found?.key === key ? found : undefined
  }

  /** Returns a number that is not above that of any entry. */
  async firstId(): Promise<number> {
    const ask = () => this.#server.jsm.streams.info(this.kind.stream)
    return this.#idOf((await this.#server.insist(0, () => ask().catch(noStream)))?.state.first_seq ?? 0)
  }

  /** Yields the entries that match, the oldest first, or only those behind the entry `after`. */
  oldest(filter: EndedFilter, after?: number): AsyncGenerator<Found> {
    const { from = 0, to = Infinity } = filter
    const time = after === undefined && from > 0 ? this.#timeOf(from) : undefined
    const seq = after === undefined ? 1 : seqOf(after) + 1
    return this.#select(filter, readForwards, { seq, time }, ({ ended }) => ended > to)
  }

  /** Yields the entries that match, the newest first. */
  newest(filter: EndedFilter): AsyncGenerator<Found> {
    const { from = 0, to = Infinity } = filter
    const time = to < LAST_TIME ? this.#timeOf(to + 1) : undefined
    return this.#select(filter, readBackwards, { time }, ({ ended }) => ended < from)
  }

  /** Yields the body of an entry. Asks for each chunk when it is wanted. */
  async *body({ key, chunks = 0, bytes }: Found): AsyncGenerator<Buffer> {
    let found = 0
    for (let chunk = 0; chunk < chunks; chunk++) {
      const message = await this.#read(this.kind.bodies, { last_by_subj: this.#bodyOf(key, chunk) })
      if (!message) throw new BodyGone()
      const { buffer, byteOffset, byteLength } = message.data
      found += byteLength
      if (chunk === chunks - 1 && found !== bytes) throw new WrongSize(`The body ${key}`, found, bytes)
      yield Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
    }
  }

  /** Notes changes of a kept entry. */
  async note({ key, resent, status, answer }: Found, change: Note): Promise<void> {
    await this.#publish(this.#noteOf(key), { resent, status, answer, ...change })
  }

  /** Removes the body first: afterwards, another replica may store the same entry again. */
  async remove({ id, key }: EntryRef): Promise<void> {
    this.#usage.forget(key)
    await this.#removeBody(key)
    if (id === NOT_STORED) return
    const { streams } = this.#server.jsm
    await this.#ask(() => streams.deleteMessage(this.kind.stream, seqOf(id), false)).catch((error) => {
      if (!isGone(error)) throw error
    })
    this.onRemoved(id)
  }

  #removeBody(key: string): Promise<unknown> {
    this.#usage.forgetBody(key)
    const filter = this.#bodyOf(key, '*')
    return this.#ask(() => this.#server.jsm.streams.purge(this.kind.bodies, { filter }))
  }

  async #putBody(key: string, body: SpoolBody): Promise<BodyPlace> {
    const seqs: number[] = []
    for await (const chunk of inChunks(body.chunks()))
      seqs.push((await this.#send(this.#bodyOf(key, seqs.length), chunk)).seq)
    return { body: seqs[0] ?? 0, chunks: seqs.length }
  }

  /** Returns the sequence of the message. With `isFirst`, rejects when the subject has one already. */
  async #publish(subject: string, value: Line | Note, isFirst = false): Promise<number> {
    const headers = newHeaders()
    headers.set(HEADER, toAscii(this.#deps.clock.withServerTimes(value)))
    const expect = isFirst && { expect: { lastSubjectSequence: 0 } }
    return (await this.#send(subject, '', { headers, ...expect })).seq
  }

  #send(subject: string, data: Payload, options: object = {}) {
    return this.#ask(() => this.#server.js.publish(subject, data, { timeout: PUBLISH_MS, ...options }))
  }

  async *#select(
    filter: EndedFilter,
    read: typeof readForwards,
    start: Omit<Range, 'subjects'>,
    isBeyond: (found: Found) => boolean,
  ): AsyncGenerator<Found> {
    const { states, entry } = filter
    if (states?.every((state) => !this.kind.states.includes(state))) return
    try {
      if (entry) {
        const found = await this.get(entry)
        if (found && matches(found, filter)) yield found
        return
      }
      const isStored = await this.#readBodies()
      await this.#readNotes()
      const range = { subjects: this.#subjectsOf(filter), ...start }
      for await (const { headers, seq, time } of read(this.#server, this.kind.stream, range)) {
        const found = this.#parse(headers, seq, time, isStored)
        if (!found) continue
        if (isBeyond(found)) return
        const noted = this.#withNote(found, this.#notes.get(found.key))
        if (matches(noted, filter) && (this.kind === DEAD || noted.isStored)) yield noted
      }
    } catch (error) {
      if (codeOf(error) !== NO_STREAM) throw error // it is created when an entry is added
    }
  }

  async #readNotes(): Promise<void> {
    if (this.kind !== KEPT) return
    const range = { subjects: [this.#noteOf('*')], seq: this.#notesRead + 1 }
    for await (const { subject, headers, seq } of readForwards(this.#server, this.kind.stream, range)) {
      this.#notes.set(subject.slice(subject.lastIndexOf('.') + 1), parseNote(headers, seq))
      this.#notesRead = Math.max(this.#notesRead, seq)
    }
  }

  /** Returns a predicate: the body of a line is stored. Bodies of dead letters are also removed between others. */
  async #readBodies(): Promise<(line: Line) => boolean> {
    const { kind } = this
    const filter = kind === DEAD ? { subjects_filter: this.#bodyOf('*', '*') } : undefined
    const ask = () => this.#server.jsm.streams.info(kind.bodies, filter)
    const info = await this.#server.insist(0, () => ask().catch(noStream))
    if (!info) return () => false
    const { first_seq, subjects = {} } = info.state
    return ({ key, body, chunks = 0 }) => {
      if (body === undefined || body < first_seq) return false
      return (
        kind === KEPT ||
        Array.from({ length: chunks }, (_, n) => this.#bodyOf(key, n)).every((each) => each in subjects)
      )
    }
  }

  async #countAll(): Promise<void> {
    const began = performance.now()
    const all: Counted[] = [] // without their summaries, which are most of their size
    for await (const found of this.oldest({})) {
      const { id, key, network, isStored } = found
      all.push({ id, key, network, bytes: isStored ? storedBytes(found) : 0 })
    }
    this.#usage.clear()
    for (const counted of all) this.#usage.add(counted)
    this.#countDue = performance.now() + READ_AGAIN * (performance.now() - began)
  }

  /** Counts a new entry, and removes the oldest ones of its networks beyond their shares, at most 100: a lease does not last for more. */
  async #makeRoom(added: Counted): Promise<void> {
    this.#usage.add(added)
    const removals: Promise<unknown>[] = []
    for (const { counted, isWhole } of this.#usage.beyond(added)) {
      removals.push(isWhole || this.kind === KEPT ? this.remove(counted) : this.#removeBody(counted.key))
      if (removals.length === REMOVED_AT_A_TIME) break
    }
    await Promise.all(removals)
  }

  #subjectOf({ key, project, eventId }: Named): string {
    const event = eventId === undefined ? NONE : encodeToken(eventId)
    return `culvert.${this.kind.subject}.entry.${encodeToken(project)}.${event}.${key}`
  }

  #subjectsOf({ projects, eventId }: EndedFilter): string[] {
    const event = eventId === undefined ? '*' : encodeToken(eventId)
    const tokens = new Set(projects?.map(encodeToken) ?? ['*'])
    return Array.from(tokens, (token) => `culvert.${this.kind.subject}.entry.${token}.${event}.*`)
  }

  #bodyOf(key: string, chunk: number | '*'): string {
    return `culvert.${this.kind.subject}.body.${key}.${chunk}`
  }

  #noteOf(key: string): string {
    return `culvert.${this.kind.subject}.note.${key}`
  }

  #idOf(seq: number): number {
    return seq * KINDS.length + this.kind.index
  }

  /** Returns a time of this machine as the server tells it. */
  #timeOf(time: number): string {
    return new Date(this.#deps.clock.toServer(time)).toISOString()
  }

  #read(stream: string, query: Query): Promise<StoredMsg | null> {
    const ask = () => this.#server.jsm.streams.getMessage(stream, query)
    return this.#server.insist(0, async () => (await ask().catch(noStream)) ?? null)
  }

  async #readOne(query: Query): Promise<Found | undefined> {
    const { stream } = this.kind
    const message = await this.#read(stream, query)
    const found = message && this.#parse(message.header, message.seq, message.time, await this.#readBodies())
    if (!found || this.kind === DEAD) return found ?? undefined
    const note = await this.#read(stream, { last_by_subj: this.#noteOf(found.key) })
    return this.#withNote(found, note ? parseNote(note.header, note.seq) : undefined)
  }

  #parse(
    headers: JsMsg['headers'],
    seq: number,
    time: Date,
    isStored: (line: Line) => boolean,
  ): Found | undefined {
    const text = headers?.get(HEADER)
    if (!text) return undefined
    const line: Line = JSON.parse(text)
    const { clock } = this.#deps
    const place = { id: this.#idOf(seq), ended: clock.toLocal(time.getTime()) }
    return { ...clock.withLocalTimes(line), ...place, isStored: isStored(line) }
  }

  /** Applies the last note of the key, unless it is that of an earlier entry. A note has all values, and JSON leaves out absent ones. */
  #withNote(found: Found, note: StoredNote | undefined): Found {
    if (!note || note.seq < seqOf(found.id)) return found
    const { seq: _seq, ...changes } = this.#deps.clock.withLocalTimes(note)
    return { ...found, resent: undefined, status: undefined, answer: undefined, ...changes }
  }

  /** Creates the streams first, and again when they were deleted. */
  #ask<T>(ask: () => Promise<T>): Promise<T> {
    return this.#server.insist(0, async () => {
      try {
        this.#opening ??= this.#openStreams()
        await this.#opening
        return await ask()
      } catch (error) {
        if (!isGone(error) && codeOf(error) !== WRONG_SEQUENCE) this.#opening = undefined
        throw error
      }
    })
  }

  /** Creates the streams, or changes their bounds. */
  async #openStreams(): Promise<void> {
    const { limits, ageMs, replicas } = this.#deps
    const { subject, stream, bodies } = this.kind
    if (ageMs === undefined) return
    const { bytes, lines } = limits()
    const open = (name: string, subjects: string, max_bytes: number, max_msgs: number) => {
      const bounds = {
        max_bytes: Math.floor(max_bytes),
        max_msgs,
        max_age: nanos(ageMs),
        num_replicas: replicas,
      }
      const first_seq = Date.now() // a stream that is created again numbers no message like one that it lost
      const options = { discard: DiscardPolicy.Old, max_msgs_per_subject: 1, first_seq }
      const wanted = { name, subjects: [`culvert.${subject}.${subjects}`], ...options, ...bounds }
      return ensureStream(this.#server.jsm, wanted, () => bounds)
    }
    if (stream === bodies) return open(stream, '>', bytes, MESSAGES_OF_KEPT * lines)
    await open(bodies, 'body.>', bytes, -1)
    await open(stream, 'entry.>', Math.min(lines * LINE_BYTES, bytes), lines)
  }
}

function seqOf(id: number): number {
  return Math.floor(id / KINDS.length)
}

function noStream(error: unknown): undefined {
  if (codeOf(error) !== NO_STREAM) throw error
}

function parseNote(headers: JsMsg['headers'], seq: number): StoredNote {
  return { ...JSON.parse(headers?.get(HEADER) ?? '{}'), seq }
}

function matches(
  found: Found,
  { states, projects, eventId, from, to, notResentSince }: EndedFilter,
): boolean {
  return (
    (states?.includes(found.state) ?? true) &&
    (projects?.includes(found.project) ?? true) &&
    (eventId === undefined || found.eventId === eventId) &&
    found.ended >= (from ?? -Infinity) &&
    found.ended <= (to ?? Infinity) &&
    (found.resent ?? -Infinity) < (notResentSince ?? Infinity)
  )
}

/** Joins and cuts pieces to the chunks of messages, of which the last one may be empty. */
async function* inChunks(body: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes <= CHUNK_BYTES) continue
    let rest = Buffer.concat(pieces)
    for (; rest.length > CHUNK_BYTES; rest = rest.subarray(CHUNK_BYTES)) yield rest.subarray(0, CHUNK_BYTES)
    pieces = [rest]
    bytes = rest.length
  }
  yield Buffer.concat(pieces)
}
