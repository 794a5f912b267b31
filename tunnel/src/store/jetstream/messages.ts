/** Messages and objects of the streams: stored, read, listed and deleted. */

import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsMsg, NextMsgRequest, SeqMsgRequest, StoredMsg } from '@nats-io/jetstream'
import { type ObjectStore, Objm } from '@nats-io/obj'
import type { MsgHdrs } from '@nats-io/transport-node'
import { BoundedMap } from '../../pipeline/bounded-map.ts'
import {
  type EntryFilter,
  type PageQuery,
  pendingSince,
  type SpoolBody,
  type StoredBody,
} from '../../pipeline/spool.ts'
import { BodyGone, UnreadableBody, WrongSize } from '../body-errors.ts'
import {
  classOf,
  decodeEntry,
  decodeId,
  type Entry,
  encodeEntry,
  encodeId,
  encodePlace,
  INLINE_BYTES,
  type Partition,
  storedBytes,
  subjectOf,
  subjectsOf,
  subjectsWithin,
  timeOfPlace,
} from './codec.ts'
import { isFull, isGone, type Server } from './nats-server.ts'
import type { ServerClock } from './server-clock.ts'
import { readBackwards, readForwards } from './stream-reader.ts'

export type Stored = { entry: Entry; data: Uint8Array }

/** Entry without its body, with its place among those of all classes. */
export type Walked = { entry: Entry; id: number; place: number }

/** Entry whose put had no answer, and how often it was looked for since. */
type Unanswered = Entry & { looks: number }

/** Number of a new entry, or the reason why there is none. */
export type Published = number | 'known' | 'full'

const CHUNK_BYTES = 512 * 1024
const PUBLISH_MS = 1_000 // a message that comes between two leaders is lost
const MAX_NAMES = 8
const PAUSE_MS = 1_000
const MAX_UNANSWERED = 10_000
const RECONCILE_MS = 5_000
const LOOKS = 2 // the client sends requests again that it has buffered without a connection

export class Messages {
  readonly #server: Server
  readonly #objm: Objm
  readonly #clock: ServerClock
  #reconcileAt = 0
  /** Puts without an answer, by mark: the server may have stored them, or may do so when the connection is back. */
  readonly #unanswered = new BoundedMap<string, Unanswered>(MAX_UNANSWERED)

  constructor(server: Server, clock: ServerClock) {
    this.#server = server
    this.#clock = clock
    this.#objm = new Objm(server.js)
  }

  /** Stores a body in one message, or a large one as an object and then the message that names it. */
  async put(entry: Entry, body: SpoolBody): Promise<Published> {
    const isLarge = storedBytes(entry) > INLINE_BYTES
    const stored = isLarge ? { ...entry, file: entry.mark } : entry
    try {
      if (isLarge) await this.#putObject(stored, body)
      const data = isLarge ? Buffer.alloc(0) : Buffer.concat(await Array.fromAsync(body.chunks()))
      const result = await this.#publish(stored, data)
      if (result === 'known') this.removeObject(stored)
      return result
    } catch (error) {
      if (!isFull(error)) {
        if (!(error instanceof UnreadableBody)) this.#unanswered.set(stored.mark, { ...stored, looks: 0 })
        throw error
      }
      this.removeObject(stored)
      return 'full'
    }
  }

  /**
   * Finds entries whose put was rejected for want of an answer, and that the server has stored nevertheless. Stores each again as such, and then
   * deletes the first one. Call it before entries are taken.
   */
  async reconcile(): Promise<void> {
    if (this.#unanswered.size === 0 || performance.now() < this.#reconcileAt) return
    this.#reconcileAt = performance.now() + RECONCILE_MS
    const byPriority = Map.groupBy(this.#unanswered.values(), ({ priority }) => priority)
    for (const [priority, entries] of byPriority) {
      const subjects = [...new Set(entries.map(subjectOf))]
      const found: number[] = []
      for await (const { entry, id } of this.#walk(priority, subjects))
        if (this.#unanswered.has(entry.mark)) found.push(id)
      for (const id of found) await this.#markRejected(id)
      for (const { mark, looks, ...entry } of entries)
        if (looks + 1 < LOOKS) this.#unanswered.set(mark, { ...entry, mark, looks: looks + 1 })
        else this.#unanswered.delete(mark)
    }
  }

  async #markRejected(id: number): Promise<void> {
    const stored = await this.get(id)
    if (!stored) return
    const mark = randomUUID()
    const { key, priority } = stored.entry
    const entry: Entry = { ...stored.entry, mark, isRejected: true }
    const options = { msgID: `${key}.${mark}`, headers: this.#encode(entry), timeout: PUBLISH_MS }
    const publish = () => this.#server.js.publish(subjectOf(entry), stored.data, options)
    const { seq } = await this.#server.insist(priority, publish)
    const isOurs = await this.remove(id, AbortSignal.timeout(RECONCILE_MS))
    if (!isOurs) await this.remove(encodeId(priority, seq), AbortSignal.timeout(RECONCILE_MS)) // another replica has settled it
  }

  readBody({ entry, data }: Stored): StoredBody {
    const { priority, file, bytes } = entry
    if (file !== undefined)
      return { open: () => Readable.from(this.#readChunks(priority, file, bytes), { objectMode: false }) }
    if (data.byteLength !== bytes) throw new WrongSize('A message', data.byteLength, bytes)
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  }

  /** Does not wait: what remains expires with its bucket. */
  removeObject({ priority, file }: Pick<Entry, 'priority' | 'file'>): void {
    if (file === undefined) return
    void this.#objects({ priority })
      .then((objects) => objects.delete(file))
      .catch(() => undefined)
  }

  async get(id: number): Promise<Stored | undefined> {
    const { priority, seq } = decodeId(id)
    const message = seq > 0 ? await this.#read(priority, { seq }) : null
    const entry = message && this.#decode(message.header)
    return entry ? { entry, data: message.data } : undefined
  }

  /** Returns when the oldest entry of a subject became pending; for a message that is not an entry, when it was stored. */
  async since(priority: number, subject: string): Promise<number | undefined> {
    const message = await this.#read(priority, { seq: 1, next_by_subj: subject })
    const entry = message && this.#decode(message.header)
    return entry ? pendingSince(entry) : message?.time.getTime()
  }

  /**
   * Deletes a message, and tries until the server has answered, or until the signal. Returns `false` when another replica deleted it. A
   * deletion without an answer may be carried out later: when the message is gone at the next try, that one deleted it.
   */
  async remove(id: number, signal: AbortSignal): Promise<boolean> {
    const { priority, seq } = decodeId(id)
    const { stream } = classOf({ priority })
    let isOurs = false
    const ask = async () => {
      try {
        isOurs = await this.#server.jsm.streams.deleteMessage(stream, seq, false)
      } catch (error) {
        if (isGone(error)) return
        isOurs = true
        throw error
      }
    }
    for (;;)
      try {
        await this.#server.insist(priority, ask)
        return isOurs
      } catch (error) {
        await pauseAfter(error, signal)
      }
  }

  /** Returns the first entries of a class that became pending before a time. */
  async oldest(priority: number, which: EntryFilter, before: number, limit: number): Promise<Walked[]> {
    const found: Walked[] = []
    const first = before < Infinity ? await this.since(priority, subjectsOf(priority)) : undefined
    if (before < Infinity && (first === undefined || first >= before)) return found
    for await (const walked of this.#walk(priority, subjectsWithin(priority, which))) {
      if (pendingSince(walked.entry) >= before || found.length >= limit) break
      found.push(walked)
    }
    return found
  }

  /** Lists entries of one class, in the order in which they were stored or the reverse. */
  async list(priority: number, query: PageQuery): Promise<Walked[]> {
    const { order, limit, after, eventId, from = -Infinity, to = Infinity } = query
    const isNewest = order === 'newest'
    const { stream } = classOf({ priority })
    const range = { subjects: subjectsWithin(priority, query), time: after && timeOfPlace(after.place) }
    const read = isNewest ? readBackwards : readForwards
    const found: Walked[] = []
    for await (const walked of this.#entriesOf(priority, read(this.#server, stream, range))) {
      if (found.length === limit) break
      const since = pendingSince(walked.entry)
      if (after && (isNewest ? walked.place >= after.place : walked.place <= after.place)) continue
      if (since < from || since > to) continue
      if (eventId === undefined || walked.entry.eventId === eventId) found.push(walked)
    }
    return found
  }

  async #putObject(entry: Entry, body: SpoolBody): Promise<void> {
    const meta = { name: entry.mark, options: { max_chunk_size: CHUNK_BYTES } }
    const chunks = () => Readable.toWeb(Readable.from(body.chunks())) as ReadableStream<Uint8Array>
    const store = async () => (await this.#objects(entry)).put(meta, chunks())
    await this.#server.insist(entry.priority, store).catch((error) => {
      this.removeObject(entry)
      throw error
    })
  }

  /**
   * The server remembers a key for ten minutes, also when its entry is gone, or was lost between two leaders. Then the message is named after
   * that one, so that replicas which store it again agree; after a second time it has a name of its own.
   */
  async #publish(entry: Entry, data: Uint8Array): Promise<Published> {
    const { key, priority, mark } = entry
    const [subject, headers] = [subjectOf(entry), this.#encode(entry)]
    let msgID = key
    for (let names = 1; names <= MAX_NAMES; names++) {
      const ask = () => this.#server.js.publish(subject, data, { msgID, headers, timeout: PUBLISH_MS })
      const { seq, duplicate } = await this.#server.insist(priority, ask)
      const id = encodeId(priority, seq)
      if (!duplicate) return id
      const first = await this.get(id)
      if (first) return first.entry.mark === mark ? id : 'known' // the first response was lost
      msgID = `${key}.${names === 1 ? seq : randomUUID()}`
    }
    throw new Error('NATS remembers what it does not hold')
  }

  async *#readChunks(priority: number, file: string, bytes: number): AsyncGenerator<Uint8Array> {
    const stream = `OBJ_${classOf({ priority }).stream}`
    const describe = async () => (await this.#objects({ priority })).info(file)
    const object = await this.#server.insist(priority, describe)
    if (!object || object.deleted) throw new BodyGone()
    if (object.size !== bytes) throw new WrongSize(`The object ${file}`, object.size, bytes)
    const query = { seq: 1, next_by_subj: `$O.${object.bucket}.C.${object.nuid}` }
    for (let chunk = 0; chunk < object.chunks; chunk++) {
      const message = await this.#read(priority, query, stream) // when it is wanted: a consumer would push a whole body into memory
      if (!message) throw new BodyGone()
      query.seq = message.seq + 1
      yield message.data
    }
  }

  #walk(priority: number, subjects: string[]): AsyncGenerator<Walked> {
    return this.#entriesOf(priority, readForwards(this.#server, classOf({ priority }).stream, { subjects }))
  }

  async *#entriesOf(priority: number, messages: AsyncIterable<JsMsg>): AsyncGenerator<Walked> {
    for await (const { headers, seq, timestampNanos } of messages) {
      const entry = this.#decode(headers)
      if (entry) yield { entry, id: encodeId(priority, seq), place: encodePlace(priority, timestampNanos) }
    }
  }

  #encode(entry: Entry): MsgHdrs {
    return encodeEntry(this.#clock.withServerTimes(entry))
  }

  #decode(headers: MsgHdrs | undefined): Entry | undefined {
    const entry = decodeEntry(headers)
    return entry && this.#clock.withLocalTimes(entry)
  }

  #read(
    priority: number,
    query: SeqMsgRequest & Partial<NextMsgRequest>,
    stream = classOf({ priority }).stream,
  ): Promise<StoredMsg | null> {
    return this.#server.insist(priority, () => this.#server.jsm.streams.getMessage(stream, query))
  }

  #objects({ priority }: Pick<Partition, 'priority'>): Promise<ObjectStore> {
    return this.#objm.open(classOf({ priority }).stream, false)
  }
}

/** Waits before the next attempt. Rejects with the error of the last one at the signal. */
export async function pauseAfter(error: unknown, signal: AbortSignal): Promise<void> {
  await wait(PAUSE_MS, undefined, { signal }).catch(() => {
    throw error
  })
}
