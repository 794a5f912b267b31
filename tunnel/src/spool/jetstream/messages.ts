/** Messages and objects of the streams: stored, read, walked through and deleted. */

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { DeliverPolicy, type NextMsgRequest, type SeqMsgRequest, type StoredMsg } from '@nats-io/jetstream'
import type { SpoolBody } from '../spool.ts'
import {
  CLASSES,
  classOf,
  decodeEntry,
  decodeId,
  type Entry,
  encodeEntry,
  encodeId,
  type Partition,
  parseSubject,
  subjectOf,
  subjectsOf,
} from './codec.ts'
import type { Connection, OpenClass } from './connection.ts'
import { type Health, isFull, isGone } from './health.ts'

export type Stored = { entry: Entry; id: number; data: Uint8Array }

/** Entries of each partition, and of each class with the bytes of its stream. */
export type Usage = {
  partitions: (Partition & { envelopes: number })[]
  classes: { messages: number; bytes: number }[]
}

/** Entry without its body, with the sequence of its message and the time at which it was stored. */
export type Walked = { entry: Entry; seq: number; nanos: bigint }

/** Part of a stream to walk through: from a sequence, or from a time in RFC 3339. */
export type Range = { subjects: string[]; seq?: number; time?: string }

/** Sequence of a new message, or the reason why there is none. */
export type PublishResult = number | 'known' | 'full'

const FETCHED = 500 // messages, without their bodies
const FETCH_MS = 1_000
const CHUNK_BYTES = 512 * 1024
const RENAMED = 8
const BODY_GONE = 'its body is gone: another replica has settled it'
const PUBLISH_MS = 1_000 // a message that comes between two leaders is lost

export class Messages {
  readonly #connection: Connection
  readonly #health: Health
  /** Messages that this replica has deleted, as far as it knows, and has not reported as removed. */
  readonly #deleted = new Set<number>()

  constructor(connection: Connection, health: Health) {
    this.#connection = connection
    this.#health = health
  }

  /** Stores a body in one message. */
  async publishWhole(entry: Entry, body: SpoolBody): Promise<PublishResult> {
    this.#health.assertNoFailure()
    return this.#publish(entry, Buffer.concat(await Array.fromAsync(body.chunks())))
  }

  /** Stores a large body as an object, and then the message that names it. Keeps the object when the server may have stored the message. */
  async publishObject(entry: Entry, file: string, body: SpoolBody): Promise<PublishResult> {
    this.#health.assertNoFailure()
    try {
      const meta = { name: file, options: { max_chunk_size: CHUNK_BYTES } }
      const chunks = () => Readable.toWeb(Readable.from(body.chunks())) as ReadableStream<Uint8Array>
      await this.#health.insist(entry.priority, () => this.#class(entry).objects.put(meta, chunks()))
    } catch (error) {
      this.removeObject(entry, file)
      if (isFull(error)) return 'full'
      throw error
    }
    const stored = await this.#publish({ ...entry, file }, Buffer.alloc(0))
    if (typeof stored !== 'number') this.removeObject(entry, file)
    return stored
  }

  readObject(entry: Partition, file: string): Readable {
    return Readable.from(this.#readChunks(entry.priority, file), { objectMode: false })
  }

  /** Does not wait: what remains expires with its bucket. */
  removeObject(entry: Partition, file: string): void {
    void this.#class(entry)
      .objects.delete(file)
      .catch(() => undefined)
  }

  async get(id: number): Promise<Stored | undefined> {
    const { priority, seq } = decodeId(id)
    return seq > 0 ? this.#read(priority, { seq }) : undefined
  }

  /** Returns the oldest message of a subject. */
  first(priority: number, subject: string): Promise<Stored | undefined> {
    return this.#read(priority, { seq: 1, next_by_subj: subject })
  }

  /**
   * Returns `false` when another replica deleted it. A deletion without an answer may be carried out after this has rejected: when the
   * message is gone at a later call, that one deleted it.
   */
  async remove(id: number): Promise<boolean> {
    const { priority, seq } = decodeId(id)
    const ask = async () => {
      try {
        await this.#connection.jsm.streams.deleteMessage(classOf({ priority }).stream, seq, false)
        this.#deleted.add(id)
      } catch (error) {
        if (isGone(error)) return
        this.#deleted.add(id)
        throw error
      }
    }
    await this.#health.insistOnWrite(priority, ask)
    return this.#deleted.delete(id)
  }

  /** Yields the entries of a range in the order in which they were stored. */
  async *walk(priority: number, { subjects, seq = 1, time }: Range): AsyncGenerator<Walked> {
    const start =
      time === undefined
        ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq }
        : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: time }
    const options = { filter_subjects: subjects, headers_only: true, ...start }
    const consumer = await this.#connection.js.consumers.get(classOf({ priority }).stream, options)
    try {
      for (let { num_pending: left } = await consumer.info(true); left > 0; ) {
        const fetched = await consumer.fetch({ max_messages: Math.min(left, FETCHED), expires: FETCH_MS })
        for await (const message of fetched) {
          const entry = decodeEntry(message.headers)
          if (entry) yield { entry, seq: message.seq, nanos: message.timestampNanos }
          left = message.info.pending
          if (left === 0) return
        }
        left = (await consumer.info()).num_pending
      }
    } finally {
      await consumer.delete().catch(() => undefined) // the server deletes it when it is not used
    }
  }

  /** Returns the sequence of the first message that was stored at a time or after it. */
  async seqAt(priority: number, time: string): Promise<number | undefined> {
    for await (const { seq } of this.walk(priority, { subjects: [subjectsOf(priority)], time })) return seq
    return undefined
  }

  /** Returns the sequence of the first message, and the one after the last. */
  async bounds(priority: number): Promise<{ first: number; end: number }> {
    const { state } = await this.#connection.jsm.streams.info(classOf({ priority }).stream)
    return { first: state.first_seq, end: state.last_seq + 1 }
  }

  /** Returns the number of entries of each class, or rejects at once. */
  counts(): Promise<number[]> {
    const { jsm } = this.#connection
    return Promise.all(CLASSES.map(async ({ stream }) => (await jsm.streams.info(stream)).state.messages))
  }

  async usage(): Promise<Usage> {
    const usage: Usage = { partitions: [], classes: [] }
    const ask = (stream: string) => this.#connection.jsm.streams.info(stream, { subjects_filter: '>' })
    const infos = CLASSES.map(({ stream }, priority) => this.#health.insist(priority, () => ask(stream)))
    for (const [priority, { state }] of (await Promise.all(infos)).entries()) {
      this.#health.count(priority, state.messages)
      usage.classes.push({ messages: state.messages, bytes: state.bytes })
      for (const [subject, envelopes] of Object.entries(state.subjects ?? {}))
        usage.partitions.push({ ...parseSubject(subject), envelopes })
    }
    return usage
  }

  /** Returns the bytes of the objects of each class. */
  objectBytes(): Promise<number[]> {
    return Promise.all(this.#health.streams.classes.map(async ({ objects }) => (await objects.status()).size))
  }

  /**
   * The server remembers a key for ten minutes, also when its entry is gone. Then the message is named after that one, so that replicas which
   * store it again agree.
   */
  async #publish(entry: Entry, data: Uint8Array): Promise<PublishResult> {
    const { key, priority, mark } = entry
    const [subject, headers] = [subjectOf(entry), encodeEntry(entry)]
    let msgID = key
    for (let renamed = 0; renamed <= RENAMED; renamed++) {
      const ask = () => this.#connection.js.publish(subject, data, { msgID, headers, timeout: PUBLISH_MS })
      const ack = await this.#health.insistOnWrite(priority, ask).catch((error) => {
        if (isFull(error)) return undefined
        throw error
      })
      if (!ack) return 'full'
      if (!ack.duplicate) return ack.seq
      const first = await this.get(encodeId(priority, ack.seq))
      if (first) return first.entry.mark === mark ? ack.seq : 'known' // its response was lost
      msgID = `${key}.${renamed < RENAMED - 1 ? ack.seq : mark}`
    }
    return 'known'
  }

  /** Asks for each chunk when it is wanted: a consumer would push a whole object into memory. */
  async *#readChunks(priority: number, file: string): AsyncGenerator<Uint8Array> {
    const { bucket } = classOf({ priority })
    const object = await this.#health.insist(priority, () => this.#class({ priority }).objects.info(file))
    if (!object || object.deleted) throw new Error(BODY_GONE)
    const subject = `$O.${bucket}.C.${object.nuid}`
    const hash = createHash('sha256')
    for (let chunk = 0, seq = 1; chunk < object.chunks; chunk++) {
      const query = { seq, next_by_subj: subject }
      const ask = () => this.#connection.jsm.streams.getMessage(`OBJ_${bucket}`, query)
      const message = await this.#health.insist(priority, ask)
      if (!message) throw new Error(BODY_GONE)
      hash.update(message.data)
      seq = message.seq + 1
      yield message.data
    }
    if (`SHA-256=${hash.digest('base64url')}=` !== object.digest) throw new Error('its body is damaged')
  }

  async #read(
    priority: number,
    query: SeqMsgRequest | (SeqMsgRequest & NextMsgRequest),
  ): Promise<Stored | undefined> {
    const { stream } = classOf({ priority })
    const ask = () => this.#connection.jsm.streams.getMessage(stream, query)
    const message: StoredMsg | null = await this.#health.insist(priority, ask)
    const entry = message && decodeEntry(message.header)
    return entry ? { entry, id: encodeId(priority, message.seq), data: message.data } : undefined
  }

  #class({ priority }: Pick<Partition, 'priority'>): OpenClass {
    return this.#health.streams.classes[priority] as OpenClass
  }
}
