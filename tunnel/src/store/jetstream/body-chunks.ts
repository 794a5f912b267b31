/** Bodies in a stream: chunks, each a message, which are stored before the message that names them. */

import type { PubAck, StoredMsg } from '@nats-io/jetstream'
import type { SpoolBody } from '../../pipeline/spool.ts'
import { BodyGone, WrongSize } from '../body-errors.ts'
import type { Server } from './nats-server.ts'

type Deps = {
  server: Server
  stream: string
  /** Subject of a chunk, or of all chunks of a body. */
  subjectOf: (name: string, chunk: number | '*') => string
  /** Asks the server, with patience. */
  ask: <T>(ask: () => Promise<T>) => Promise<T>
}

const CHUNK_BYTES = 512 * 1024
export const PUBLISH_MS = 1_000 // a message that comes between two leaders is lost

export class BodyChunks {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Returns the sequence of the first chunk. */
  async put(name: string, body: SpoolBody): Promise<number> {
    const seqs: number[] = []
    for await (const chunk of inChunks(body.chunks()))
      seqs.push((await this.#send(name, seqs.length, chunk)).seq)
    return seqs[0] ?? 0
  }

  /** Yields the `bytes` of a body. Asks for each chunk when it is wanted: a consumer would push a whole body into memory. */
  async *read(name: string, bytes: number): AsyncGenerator<Buffer> {
    const last = Math.max(1, Math.ceil(bytes / CHUNK_BYTES)) - 1
    for (let chunk = 0, found = 0; chunk <= last; chunk++) {
      const message = await this.#get(name, chunk)
      if (!message) throw new BodyGone()
      const { buffer, byteOffset, byteLength } = message.data
      found += byteLength
      if (chunk === last && found !== bytes) throw new WrongSize(`The body ${name}`, found, bytes)
      yield Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
    }
  }

  remove(name: string): Promise<unknown> {
    const { server, stream, subjectOf, ask } = this.#deps
    return ask(() => server.jsm.streams.purge(stream, { filter: subjectOf(name, '*') }))
  }

  #send(name: string, chunk: number, data: Buffer): Promise<PubAck> {
    const { server, subjectOf, ask } = this.#deps
    return ask(() => server.js.publish(subjectOf(name, chunk), data, { timeout: PUBLISH_MS }))
  }

  #get(name: string, chunk: number): Promise<StoredMsg | null> {
    const { server, stream, subjectOf, ask } = this.#deps
    return ask(() => server.jsm.streams.getMessage(stream, { last_by_subj: subjectOf(name, chunk) }))
  }
}

/** Returns whether a body has one chunk only. */
export function isOneChunk(bytes: number): boolean {
  return bytes <= CHUNK_BYTES
}

/** Joins and cuts pieces to chunks, of which the last one may be empty. */
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
