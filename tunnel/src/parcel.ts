/** What of a body goes to Sentry: as it came, or without what is cut out of it. */

import { Readable } from 'node:stream'
import { type Body, type Pieces, wireContent } from './body.ts'
import type { Range } from './range.ts'
import { type Encoding, unpacked } from './unpack.ts'

/** What goes to Sentry: bytes to send, how many, and their Content-Encoding if they are compressed. */
export type Parcel = {
  content: () => Pieces | Readable
  bytes: number
  encoding: Encoding
  /** The file that holds just these bytes, if one does. */
  file?: string | undefined
}

/** The body without the ranges in `cuts` (of its unpacked bytes, in order); as it came when there are none. */
export function packParcel(body: Body, unpackedBytes: number, cuts: readonly Range[]): Parcel {
  const { wire, wireBytes, encoding } = body
  if (cuts.length > 0) return packPlain(body, unpackedBytes, cuts)
  return {
    file: 'handle' in wire ? wire.path : undefined,
    content: () => wireContent(body),
    bytes: wireBytes,
    encoding,
  }
}

/** The same, never compressed: what waits may have to be changed before it leaves. */
export function packPlain(body: Body, unpackedBytes: number, cuts: readonly Range[]): Parcel {
  const { wire, encoding } = body
  if (cuts.length === 0 && encoding === 'identity') return packParcel(body, unpackedBytes, cuts)
  const bytes = unpackedBytes - cuts.reduce((sum, [start, end]) => sum + end - start, 0)
  if ('handle' in wire || encoding !== 'identity')
    return {
      content: () => Readable.from(without(unpacked(body), cuts), { objectMode: false }),
      bytes,
      encoding: 'identity',
    }
  const kept = wire.flatMap(createCutter(cuts))
  return { content: () => kept, bytes, encoding }
}

async function* without(chunks: AsyncIterable<Buffer>, cuts: readonly Range[]): AsyncGenerator<Buffer> {
  const cut = createCutter(cuts)
  for await (const chunk of chunks) yield* cut(chunk)
}

/** Gives what of each chunk, in turn from the first, lies outside every cut. */
function createCutter(cuts: readonly Range[]): (chunk: Buffer) => Buffer[] {
  let offset = 0
  return function cut(chunk) {
    const kept: Buffer[] = []
    let from = 0
    for (const [start, end] of cuts) {
      if (end <= offset + from || start >= offset + chunk.length) continue
      if (start > offset + from) kept.push(chunk.subarray(from, start - offset))
      from = Math.min(chunk.length, end - offset)
    }
    if (from < chunk.length) kept.push(chunk.subarray(from))
    offset += chunk.length
    return kept
  }
}
