/** Reads streams without leases: headers forwards and backwards, and bodies in chunks. */

import { Readable } from 'node:stream'
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream'
import type { StoredBody } from '../../pipeline/spool.ts'
import type { Server } from './nats-server.ts'

/** Part of a stream: from a sequence, or from a time in RFC 3339; read backwards, it ends before that time. */
export type Range = { subjects: string[]; seq?: number; time?: string | undefined }

const FETCHED = 500 // messages, without their bodies
const FETCH_MS = 1_000
const FIRST_WINDOW = 256 // sequences that are looked back at
const LAST_WINDOW = 8_192

/** Yields messages without their bodies in the order in which they were stored. */
export async function* readForwards(
  { js }: Server,
  stream: string,
  { subjects, seq = 1, time }: Range,
): AsyncGenerator<JsMsg> {
  const start =
    time === undefined
      ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq }
      : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: time }
  const consumer = await js.consumers.get(stream, {
    filter_subjects: subjects,
    headers_only: true,
    ...start,
  })
  const pending = async () => (await consumer.info()).num_pending
  try {
    for (let left = await pending(); left > 0; left = await pending()) {
      const fetched = await consumer.fetch({ max_messages: Math.min(left, FETCHED), expires: FETCH_MS })
      for await (const message of fetched) {
        yield message
        if (message.info.pending === 0) return
      }
    }
  } finally {
    await consumer.delete().catch(() => undefined) // the server deletes it when it is not used
  }
}

/** Yields messages without their bodies, the newest first: windows are read one before the other, larger ones where they hold little. */
export async function* readBackwards(
  server: Server,
  stream: string,
  { subjects, time }: Range,
): AsyncGenerator<JsMsg> {
  const { first_seq, last_seq } = (await server.jsm.streams.info(stream)).state
  let end = last_seq + 1
  if (time !== undefined)
    for await (const { seq } of readForwards(server, stream, { subjects: ['>'], time })) {
      end = seq
      break
    }
  for (let size = FIRST_WINDOW; end > first_seq; size = Math.min(LAST_WINDOW, size * 4)) {
    const seq = Math.max(first_seq, end - size)
    const window: JsMsg[] = []
    for await (const message of readForwards(server, stream, { subjects, seq })) {
      if (message.seq >= end) break
      window.push(message)
    }
    yield* window.reverse()
    end = seq
  }
}

/** Returns the only chunk of a body, or a function that streams all of them. */
export async function openBody(isWhole: boolean, chunks: () => AsyncIterable<Buffer>): Promise<StoredBody> {
  if (!isWhole) return { open: () => Readable.from(chunks(), { objectMode: false }) }
  const [chunk = Buffer.alloc(0)] = await Array.fromAsync(chunks())
  return chunk
}
