/** Segment of a replay: a line with its number, then JSON, which most SDKs compress. */

import { pipeline, Readable } from 'node:stream'
import { createUnzip } from 'node:zlib'
import { MAX_RECORDING_BYTES } from './messages.ts'

const MAX_HEADER_BYTES = 1_024
/** More than the console plays, so that its page can say why. */
const MAX_BYTES = 2 * MAX_RECORDING_BYTES
const NEWLINE = 0x0a
/** First bytes of zlib and gzip. */
const COMPRESSED = [0x78, 0x1f]

/** Decompresses a segment while it is read. Throws for data that is damaged or has too many bytes. */
export async function* unpackSegment(payload: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of contentOf(withoutHeader(payload))) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error('The recording is too large.')
    yield chunk
  }
}

async function* withoutHeader(payload: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let headerBytes = 0
  let isRead = false
  for await (const chunk of payload) {
    if (isRead) yield chunk
    else {
      const end = chunk.indexOf(NEWLINE)
      headerBytes += end < 0 ? chunk.length : end
      if (headerBytes > MAX_HEADER_BYTES) throw new Error('The recording has no header.')
      isRead = end >= 0
      if (isRead && end + 1 < chunk.length) yield chunk.subarray(end + 1)
    }
  }
}

async function* contentOf(content: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await content.next()
  if (first.done) return
  const all = joined(first.value, content)
  const [kind = 0] = first.value
  if (!COMPRESSED.includes(kind)) return yield* all
  const unzip = createUnzip()
  pipeline(Readable.from(all), unzip, () => {}) // an error reaches the reader below
  for await (const chunk of unzip) yield chunk
}

async function* joined(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* others
}
