/** Outgoing body of a stored envelope: `sent_at` is advanced by the time that the envelope spent in the spool, and a former DSN replaced, or in a mirrored envelope that of its project. */

import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { OutgoingBody } from '../../envelope/body/outgoing.ts'
import { moveSentAt } from '../../envelope/sent-at.ts'
import type { StoredBody } from '../../pipeline/spool.ts'

/** Builds the outgoing body of `bytes` stored bytes. `ageMs` is the time since the envelope arrived, `dsn` the one to name instead of its own. */
export async function buildStoredBody(
  stored: StoredBody,
  bytes: number,
  ageMs: number,
  dsn?: string,
): Promise<OutgoingBody> {
  if (Buffer.isBuffer(stored)) {
    const moved = moveSentAt(stored, ageMs, dsn)
    return { content: () => moved, bytes: sumLengths(moved), encoding: 'identity' }
  }
  const head = await readFirstChunk(stored.open())
  const moved = moveSentAt(head, ageMs, dsn)
  return {
    content: () => Readable.from(replaceHead(stored.open, head.length, moved), { objectMode: false }),
    bytes: bytes + sumLengths(moved) - head.length,
    encoding: 'identity',
  }
}

function sumLengths(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** Reads 64 KiB, which hold the header line of every accepted envelope. */
async function readFirstChunk(stream: Readable): Promise<Buffer> {
  await once(stream, 'readable')
  const chunk: Buffer = stream.read() ?? Buffer.alloc(0)
  stream.destroy()
  return chunk
}

async function* replaceHead(
  open: () => Readable,
  headBytes: number,
  pieces: readonly Buffer[],
): AsyncGenerator<Buffer> {
  yield* pieces
  let skip = headBytes
  for await (const chunk of open()) {
    if (chunk.length > skip) yield chunk.subarray(skip)
    skip = Math.max(0, skip - chunk.length)
  }
}
