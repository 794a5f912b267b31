/** What of a body goes to Sentry: as it came, or without what is cut out of it. */

import { Readable } from 'node:stream'
import { Rejection } from '../rejections.ts'
import { compress, type Encoding, encodingOf, type Method } from './decode.ts'
import type { Memory } from './memory-budget.ts'
import type { Range } from './ranges.ts'
import { type Bodies, type Body, type Pieces, wireContent } from './receive.ts'

/** What goes to Sentry: bytes to send, how many, and their Content-Encoding if they are compressed. */
export type Parcel = {
  content: () => Pieces | Readable
  bytes: number
  encoding: Encoding
  /** It is compressed while it is sent: `bytes` are those before that. */
  isLengthUnknown?: true
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

const SLACK_BYTES = 1024
const SMALL_BYTES = 256 * 1024 // for which a sender can wait until the best is made of them
const WHOLE_BYTES = 1024 * 1024
const RATIO_OF_RUNS = 100 // what shrinks more than so holds long runs of a byte

/** The most bytes that leave for a body of so many: its own and a tenth, and 1 KiB for what is tiny. */
export function mostOutgoing(wireBytes: number): number {
  return Math.floor(wireBytes * 1.1) + SLACK_BYTES
}

function methodsFor(bytes: number, wireBytes: number, mostSmall: number): Method[] {
  const methods: Method[] = bytes > RATIO_OF_RUNS * wireBytes ? ['runs', 'repeats'] : ['repeats', 'runs']
  return bytes <= mostSmall ? [...methods, 'small'] : methods
}

/**
 * A compressed body without the ranges in `cuts`, compressed again: a few bytes that unpack to many must not leave as many. Throws a
 * `Rejection` when it cannot be made about as small as it came.
 */
export async function cutCompressed(
  bodies: Bodies,
  body: Body,
  unpackedBytes: number,
  cuts: readonly Range[],
): Promise<Body> {
  const most = mostOutgoing(body.wireBytes)
  for (const method of methodsFor(unpackedBytes, body.wireBytes, SMALL_BYTES)) {
    const cut = await bodies.rewrite(body, (chunks) => without(chunks, cuts), method, most)
    if (cut) return cut
  }
  throw new Rejection(
    'envelope-too-large',
    'Without what is taken out of it, it cannot be compressed as well.',
  )
}

/** A parcel that came compressed, of `wireBytes`, compressed again. A large one is compressed while it is sent. */
export async function compressed(parcel: Parcel, wireBytes: number, memory: Memory): Promise<Parcel> {
  const { content, bytes } = parcel
  const most = mostOutgoing(wireBytes)
  if (bytes <= most) return parcel
  const [likely = 'runs', ...others] = methodsFor(bytes, wireBytes, WHOLE_BYTES)
  if (bytes > WHOLE_BYTES)
    return {
      content: () => Readable.from(compress(content(), likely, memory), { objectMode: false }),
      bytes,
      encoding: encodingOf(likely),
      isLengthUnknown: true,
    }
  let smallest = await compressWhole(content, likely, memory)
  for (const method of others) {
    if (smallest.bytes <= most) break
    const next = await compressWhole(content, method, memory)
    if (next.bytes < smallest.bytes) smallest = next
  }
  return smallest
}

async function compressWhole(content: Parcel['content'], method: Method, memory: Memory): Promise<Parcel> {
  const pieces = await Array.fromAsync(compress(content(), method, memory))
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  return { content: () => pieces, bytes, encoding: encodingOf(method) }
}

/** The same, never compressed: what waits may have to be changed before it leaves. */
export function packPlain(body: Body, unpackedBytes: number, cuts: readonly Range[]): Parcel {
  const { wire, encoding } = body
  if (cuts.length === 0 && encoding === 'identity') return packParcel(body, unpackedBytes, cuts)
  const bytes = unpackedBytes - cuts.reduce((sum, [start, end]) => sum + end - start, 0)
  if ('handle' in wire || encoding !== 'identity')
    return {
      content: () => Readable.from(without(body.unpacked(), cuts), { objectMode: false }),
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
