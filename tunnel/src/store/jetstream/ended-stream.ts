/** Stream of entries that are not pending, and that of their bodies. The server drops the oldest messages of both. */

import { DiscardPolicy, type JsMsg, type StoredMsg } from '@nats-io/jetstream'
import { nanos, headers as newHeaders } from '@nats-io/transport-node'
import { BoundedMap } from '../../pipeline/bounded-map.ts'
import type { EndedFilter, EndedState, SpoolBody, SpoolEntry } from '../../pipeline/spool.ts'
import type { Summary } from '../entry-summary.ts'
import { WrongSize } from '../wrong-size.ts'
import { encodeToken, HEADER, NONE, toAscii } from './codec.ts'
import { isGone, type Server } from './nats-server.ts'
import { type Counted, type Limits, NetworkUsage, type Shares } from './network-usage.ts'
import { BodyGone, readBackwards, readForwards } from './stream-reader.ts'
import { codeOf, ensureStream, KEPT_STREAM, NO_STREAM, WRONG_SEQUENCE } from './streams.ts'

/** Entry as a message holds it, in one header. Times are those of the server. `chunks`: messages of its body, the first at `body`. */
export type Line = SpoolEntry & {
  state: EndedState
  status?: number | undefined
  answer?: string | undefined
  body?: number
  chunks?: number
  /** Of a kept entry. */
  summary?: Summary
}

/** Changes of a kept entry: its message cannot be changed. */
export type Note = Pick<Line, 'resent' | 'status' | 'answer'>

/** Entry that was read, with the sequence of its message, and the time at which it was stored. */
export type Found = Line & { seq: number; ended: number; isStored: boolean }

export type EndedBounds = Shares & {
  /** Number of entries, and bytes of their bodies. */
  limits: () => Limits
  /** Absent on a replica that keeps no entries: it leaves the stream with the bounds of others. */
  ageMs: number | undefined
  /** Copies of each stream. */
  replicas: number
}

/** Streams of entries in some states. Of a dead letter the line stays when its body is dropped; a kept entry goes as a whole. */
export type Kind = { subject: string; stream: string; bodies: string; states: readonly EndedState[] }

export const DEAD: Kind = {
  subject: 'dead',
  stream: 'CULVERT_DEAD_LETTERS',
  bodies: 'CULVERT_DEAD_LETTER_BODIES',
  states: ['declined', 'expired', 'evicted'],
}
export const KEPT: Kind = {
  subject: 'kept',
  stream: KEPT_STREAM,
  bodies: KEPT_STREAM,
  states: ['kept'],
}

type Query = { seq: number } | { last_by_subj: string }
type StoredNote = Note & { seq: number }

const CHUNK_BYTES = 512 * 1024
const LINE_BYTES = 4 * 1024 // of a long line
const PUBLISH_MS = 1_000
const MAX_NOTES = 100_000
const LAST_TIME = Date.UTC(9999)
const NOT_STORED = -1
const READ_AGAIN = 100 // times the duration of the last reading

export class EndedStream {
  readonly kind: Kind
  /** Receives the sequence of each entry that this replica removes. */
  onRemoved: (seq: number) => void = () => {}
  readonly #server: Server
  readonly #bounds: EndedBounds
  #opening: Promise<unknown> | undefined
  readonly #notes = new BoundedMap<string, StoredNote>(MAX_NOTES)
  #notesRead = 0
  readonly #usage: NetworkUsage
  #countDue = -Infinity
  #counting: Promise<void> | undefined

  constructor(server: Server, kind: Kind, bounds: EndedBounds) {
    this.#server = server
    this.kind = kind
    this.#bounds = bounds
    this.#usage = new NetworkUsage(bounds.limits, bounds)
  }

  /**
   * Stores an entry, and before it the body. Replaces a dead letter with the same key. Of one whose body is larger than a share, only the line
   * stays.
   */
  async add(line: Line, body: SpoolBody | undefined): Promise<'stored' | 'known' | 'too-large'> {
    if (performance.now() >= this.#countDue) await this.#count().catch(() => undefined) // a later call counts them
    const { kind } = this
    const hasRoom = body !== undefined && line.bytes <= this.#usage.maxBytes(line)
    if (!hasRoom && kind === KEPT) return 'too-large'
    const { key, network, project } = line
    const counted = { key, network, project, bytes: hasRoom ? line.bytes : 0, seq: NOT_STORED }
    await this.#makeRoom(counted)
    const stored = hasRoom ? { ...line, ...(await this.#putBody(line.key, body)) } : { ...line, headers: [] }
    const headers = newHeaders()
    headers.set(HEADER, toAscii(stored))
    const expect = kind === KEPT && { expect: { lastSubjectSequence: 0 } }
    const publish = () =>
      this.#server.js.publish(this.#subjectOf(line), '', { headers, timeout: PUBLISH_MS, ...expect })
    try {
      counted.seq = (await this.#ask(publish)).seq
      return 'stored'
    } catch (error) {
      if (codeOf(error) !== WRONG_SEQUENCE) throw error
      return (await this.find(line))?.body === stored.body ? 'stored' : 'known' // the first response was lost
    }
  }

  /** Finds the entry with the key of another one. */
  find(entry: Pick<SpoolEntry, 'key' | 'project' | 'eventId'>): Promise<Found | undefined> {
    return this.#readOne({ last_by_subj: this.#subjectOf(entry) })
  }

  /** Returns the sequence of the oldest message that the server has not dropped. */
  async firstSeq(): Promise<number> {
    const ask = () => this.#server.jsm.streams.info(this.kind.stream)
    return (await this.#server.insist(0, () => ask().catch(noStream)))?.state.first_seq ?? 0
  }

  get(seq: number): Promise<Found | undefined> {
    return this.#readOne({ seq })
  }

  /** Yields the entries that match, the oldest first, from a sequence if one is given. */
  async *oldest(filter: EndedFilter, seq?: number): AsyncGenerator<Found> {
    const { from = 0, to = Infinity } = filter
    const start = seq === undefined ? { time: from > 0 ? timeOf(from) : undefined } : { seq }
    const range = { subjects: this.#subjectsOf(filter), ...start }
    yield* this.#select(filter, readForwards(this.#server, this.kind.stream, range), (ended) => ended > to)
  }

  /** Yields the entries that match, the newest first. */
  async *newest(filter: EndedFilter): AsyncGenerator<Found> {
    const { from = 0, to = Infinity } = filter
    const time = to < LAST_TIME ? timeOf(to + 1) : undefined
    const range = { subjects: this.#subjectsOf(filter), time }
    yield* this.#select(filter, readBackwards(this.#server, this.kind.stream, range), (ended) => ended < from)
  }

  /** Yields the body of an entry. Asks for each chunk when it is wanted. */
  async *body({ key, chunks = 0, bytes }: Line): AsyncGenerator<Buffer> {
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
  async note(found: Found, note: Note): Promise<void> {
    const { resent, status, answer } = found
    const headers = newHeaders()
    headers.set(HEADER, toAscii({ resent, status, answer, ...note }))
    await this.#ask(() =>
      this.#server.js.publish(this.#noteOf(found.key), '', { headers, timeout: PUBLISH_MS }),
    )
  }

  /** Removes the body first: afterwards, another replica may store the same entry again. */
  async remove({ key, seq }: Pick<Found, 'key' | 'seq'>): Promise<void> {
    this.#usage.forget(key)
    await this.#removeBody(key)
    if (seq === NOT_STORED) return
    const { stream } = this.kind
    await this.#ask(() => this.#server.jsm.streams.deleteMessage(stream, seq, false)).catch((error) => {
      if (!isGone(error)) throw error
    })
    this.onRemoved(seq)
  }

  #removeBody(key: string): Promise<unknown> {
    this.#usage.forgetBody(key)
    return this.#ask(() =>
      this.#server.jsm.streams.purge(this.kind.bodies, { filter: this.#bodyOf(key, '*') }),
    )
  }

  async #putBody(key: string, body: SpoolBody): Promise<Pick<Line, 'body' | 'chunks'>> {
    const seqs: number[] = []
    for await (const chunk of inChunks(body.chunks())) {
      const subject = this.#bodyOf(key, seqs.length)
      const ask = () => this.#server.js.publish(subject, chunk, { timeout: PUBLISH_MS })
      seqs.push((await this.#ask(ask)).seq)
    }
    return { body: seqs[0] ?? 0, chunks: seqs.length }
  }

  async *#select(
    filter: EndedFilter,
    messages: AsyncIterable<JsMsg>,
    isBeyond: (ended: number) => boolean,
  ): AsyncGenerator<Found> {
    try {
      const isStored = await this.#readBodies()
      await this.#readNotes()
      for await (const { headers, seq, time } of messages) {
        if (isBeyond(time.getTime())) return
        const line = readLine(headers, seq, time, isStored)
        const found = line && withNote(line, this.#notes.get(line.key))
        if (found && matches(found, filter) && (this.kind === DEAD || found.isStored)) yield found
      }
    } catch (error) {
      if (codeOf(error) !== NO_STREAM) throw error // it is created when an entry is added
    }
  }

  async #readNotes(): Promise<void> {
    if (this.kind !== KEPT) return
    const range = { subjects: [this.#noteOf('*')], seq: this.#notesRead + 1 }
    for await (const { subject, headers, seq } of readForwards(this.#server, this.kind.stream, range)) {
      this.#notes.set(subject.slice(subject.lastIndexOf('.') + 1), readNote(headers, seq))
      this.#notesRead = Math.max(this.#notesRead, seq)
    }
  }

  /** Returns a function that tells whether the body of a line is there. Bodies of dead letters are also removed between others. */
  async #readBodies(): Promise<(line: Line) => boolean> {
    const { kind } = this
    const filter = kind === DEAD ? { subjects_filter: this.#bodyOf('*', '*') } : undefined
    const ask = () => this.#server.jsm.streams.info(kind.bodies, filter)
    const info = await this.#server.insist(0, () => ask().catch(noStream))
    if (!info) return () => false
    const { first_seq, subjects } = info.state
    return ({ key, body, chunks = 0 }) => {
      if (body === undefined || body < first_seq) return false
      if (kind === KEPT) return true
      return Array.from({ length: chunks }, (_, n) => this.#bodyOf(key, n)).every(
        (each) => each in (subjects ?? {}),
      )
    }
  }

  /** Reads the lines again from time to time: other replicas and the server change them, too. */
  #count(): Promise<void> {
    this.#counting ??= this.#countAll().finally(() => {
      this.#counting = undefined
    })
    return this.#counting
  }

  async #countAll(): Promise<void> {
    const began = performance.now()
    const found = await Array.fromAsync(this.oldest({}))
    this.#usage.clear()
    for (const { key, network, project, bytes, isStored, seq } of found)
      this.#usage.add({ key, network, project, bytes: isStored ? bytes : 0, seq })
    this.#countDue = performance.now() + READ_AGAIN * (performance.now() - began)
  }

  /** Counts a new entry, and removes the oldest ones of its network and its project beyond their shares. */
  async #makeRoom(added: Counted): Promise<void> {
    this.#usage.add(added)
    const removals: Promise<unknown>[] = []
    for (const { key, seq } of this.#usage.beyondBytes(added))
      removals.push(this.kind === KEPT ? this.remove({ key, seq }) : this.#removeBody(key))
    for (const counted of this.#usage.beyondLines(added)) removals.push(this.remove(counted))
    await Promise.all(removals)
  }

  #subjectOf({ key, project, eventId }: Pick<SpoolEntry, 'key' | 'project' | 'eventId'>): string {
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

  #read(stream: string, query: Query): Promise<StoredMsg | null> {
    const ask = () => this.#server.jsm.streams.getMessage(stream, query)
    return this.#server.insist(0, async () => (await ask().catch(noStream)) ?? null)
  }

  async #readOne(query: Query): Promise<Found | undefined> {
    const { kind } = this
    const message = await this.#read(kind.stream, query)
    const isStored = message && (await this.#readBodies())
    const found = isStored && readLine(message.header, message.seq, message.time, isStored)
    if (!found || kind === DEAD) return found ?? undefined
    const note = await this.#read(kind.stream, { last_by_subj: this.#noteOf(found.key) })
    return withNote(found, note ? readNote(note.header, note.seq) : undefined)
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
    const { subject, stream, bodies } = this.kind
    const { limits, ageMs, replicas } = this.#bounds
    if (ageMs === undefined) return
    const { bytes, lines } = limits()
    const open = (name: string, subjects: string, max_bytes: number, max_msgs: number) => {
      const bounds = {
        max_bytes: Math.floor(max_bytes),
        max_msgs,
        max_age: nanos(ageMs),
        num_replicas: replicas,
      }
      const numbers = { max_msgs_per_subject: 1, first_seq: Date.now() } // a stream that is created again numbers no message like one that it lost
      const wanted = {
        name,
        subjects: [`culvert.${subject}.${subjects}`],
        discard: DiscardPolicy.Old,
        ...numbers,
      }
      return ensureStream(this.#server.jsm, { ...wanted, ...bounds }, () => bounds)
    }
    if (stream === bodies) return open(stream, '>', bytes, -1)
    await Promise.all([
      open(stream, 'entry.>', Math.min(lines * LINE_BYTES, bytes), lines),
      open(bodies, 'body.>', bytes, -1),
    ])
  }
}

function noStream(error: unknown): undefined {
  if (codeOf(error) !== NO_STREAM) throw error
}

function readLine(
  headers: JsMsg['headers'],
  seq: number,
  time: Date,
  isStored: (line: Line) => boolean,
): Found | undefined {
  const text = headers?.get(HEADER)
  if (!text) return undefined
  const line: Line = JSON.parse(text)
  return { ...line, seq, ended: time.getTime(), isStored: isStored(line) }
}

function readNote(headers: JsMsg['headers'], seq: number): StoredNote {
  return { ...JSON.parse(headers?.get(HEADER) ?? '{}'), seq }
}

/** Applies the last note of the key, unless it is that of an earlier entry. */
function withNote(found: Found, stored: StoredNote | undefined): Found {
  if (!stored || stored.seq < found.seq) return found
  const { seq: _seq, ...note } = stored
  return { ...found, ...note }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

export function matches(
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

/** Joins and cuts pieces to the chunks of messages. Yields an empty one for an empty body. */
async function* inChunks(body: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let bytes = 0
  let isEmpty = true
  for await (const piece of body)
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + CHUNK_BYTES - bytes)
      pieces.push(part)
      bytes += part.length
      at += part.length
      if (bytes < CHUNK_BYTES) continue
      yield Buffer.concat(pieces)
      isEmpty = false
      pieces = []
      bytes = 0
    }
  if (bytes > 0 || isEmpty) yield Buffer.concat(pieces)
}
