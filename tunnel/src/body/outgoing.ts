/** Outgoing bodies: unmodified, or without removed ranges. */

import { Readable } from 'node:stream'
import { Rejection } from '../rejections.ts'
import {
  BROWSER_WAIT_MS,
  type Change,
  type Encoded,
  type Encoding,
  type Method,
  type Rewriting,
} from './decode.ts'
import type { Range } from './ranges.ts'
import { type Bodies, type Body, type Pieces, wireContent } from './receive.ts'

/** Bytes to send to Sentry, their number, and their Content-Encoding if they are compressed. */
export type OutgoingBody = {
  content: () => Pieces | Readable
  bytes: number
  encoding: Encoding
  /** The file that holds just these bytes, if one does. */
  file?: string | undefined
}

/** The body without the ranges in `removedRanges` (of its unpacked bytes, in order); as it came when there are none. */
export function buildBody(body: Body, unpackedBytes: number, removedRanges: readonly Range[]): OutgoingBody {
  const { wire, wireBytes, encoding } = body
  if (removedRanges.length > 0) return buildUncompressedBody(body, unpackedBytes, removedRanges)
  return {
    file: 'handle' in wire ? wire.path : undefined,
    content: () => wireContent(body),
    bytes: wireBytes,
    encoding,
  }
}

const SLACK_BYTES = 1024
const SMALL_BYTES = 256 * 1024 // for which a browser can wait until the least is made of them
const RATIO_OF_RUNS = 100 // what shrinks more than so holds long runs of a byte
const SPOOL_WAIT_MS = 10_000 // for memory

/** The most bytes that should leave for a body of so many: its own and a tenth, and 1 KiB for what is tiny. */
export function maxOutgoingBytes(wireBytes: number): number {
  return Math.floor(wireBytes * 1.1) + SLACK_BYTES
}

/** Past these a body does not leave: no honest sender compresses so much better than we do. */
function mostTolerated(wireBytes: number): number {
  return Math.floor(wireBytes * 1.25) + SLACK_BYTES
}

/**
 * A compressed body without the ranges in `removedRanges`, compressed again: a few bytes that unpack to many must not leave as many. Throws a
 * `Rejection` when it cannot be made about as small as it came, and `tunnel-busy` without memory for it.
 */
export async function recompressWithoutRanges(
  bodies: Bodies,
  body: Body,
  unpackedBytes: number,
  removedRanges: readonly Range[],
): Promise<Body> {
  const { wireBytes } = body
  const rewriting = { change: withoutRanges(removedRanges), unpackedBytes, waitMs: BROWSER_WAIT_MS }
  const cut = await smallest(
    bodies,
    encodedOf(body),
    rewriting,
    methodsFor(unpackedBytes, wireBytes),
    wireBytes,
  )
  if (cut.wireBytes <= mostTolerated(wireBytes)) return cut
  await cut.release()
  throw new Rejection(
    'envelope-too-large',
    'Without what is taken out of it, it cannot be compressed as well.',
  )
}

/** A body as the spool keeps it: unpacked, without the ranges in `removedRanges`. */
export async function unpackForSpool(
  bodies: Bodies,
  body: Body,
  unpackedBytes: number,
  removedRanges: readonly Range[],
): Promise<Body> {
  const rewriting = {
    change: withoutRanges(removedRanges),
    method: 'plain',
    unpackedBytes,
    waitMs: SPOOL_WAIT_MS,
  } as const
  const plain = await bodies.rewrite(encodedOf(body), rewriting, Infinity)
  if (!plain) throw new Error('a body without a bound exceeds it')
  return plain
}

/** Compresses a spooled body again that arrived compressed, with `wireBytes` bytes. */
export function compressSpooled(
  bodies: Bodies,
  { content, bytes }: OutgoingBody,
  wireBytes: number,
): Promise<Body> {
  const encoded = { content, encoding: 'identity', head: Buffer.alloc(0) } as const
  const rewriting = { change: unchanged, unpackedBytes: bytes, waitMs: SPOOL_WAIT_MS }
  return smallest(bodies, encoded, rewriting, methodsFor(bytes, wireBytes), wireBytes)
}

function methodsFor(bytes: number, wireBytes: number): Method[] {
  const methods: Method[] = bytes > RATIO_OF_RUNS * wireBytes ? ['runs', 'repeats'] : ['repeats', 'runs']
  return bytes <= SMALL_BYTES ? [...methods, 'small'] : methods
}

/** Tries methods until one makes a body about as small as it came, and gives the smallest. */
async function smallest(
  bodies: Bodies,
  encoded: Encoded,
  rewriting: Omit<Rewriting, 'method'>,
  methods: readonly Method[],
  wireBytes: number,
): Promise<Body> {
  let best: Body | undefined
  for (const method of methods) {
    const next = await rewriteBelow(bodies, encoded, { ...rewriting, method }, best)
    if (next && best) await best.release()
    best = next ?? best
    if (best && best.wireBytes <= maxOutgoingBytes(wireBytes)) break
  }
  if (!best) throw new Error('no method was tried')
  return best
}

async function rewriteBelow(
  bodies: Bodies,
  encoded: Encoded,
  rewriting: Rewriting,
  best: Body | undefined,
): Promise<Body | undefined> {
  try {
    return await bodies.rewrite(encoded, rewriting, best ? best.wireBytes - 1 : Infinity)
  } catch (error) {
    await best?.release()
    throw error
  }
}

function encodedOf({ wire, encoding, head }: Body): Encoded {
  return { content: () => wireContent({ wire }), encoding, head }
}

async function* unchanged(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks
}

/** A body that is not compressed, without the ranges in `removedRanges`. */
export function buildUncompressedBody(
  body: Body,
  unpackedBytes: number,
  removedRanges: readonly Range[],
): OutgoingBody {
  const { wire, encoding } = body
  if (removedRanges.length === 0) return buildBody(body, unpackedBytes, removedRanges)
  if (encoding !== 'identity') throw new Error('a compressed body is cut by cutCompressed')
  const bytes = unpackedBytes - removedRanges.reduce((sum, [start, end]) => sum + end - start, 0)
  if ('handle' in wire)
    return {
      content: () => Readable.from(withoutRanges(removedRanges)(body.unpacked()), { objectMode: false }),
      bytes,
      encoding,
    }
  const kept = wire.flatMap(createRangeRemover(removedRanges))
  return { content: () => kept, bytes, encoding }
}

function withoutRanges(removedRanges: readonly Range[]): Change {
  return async function* cutOut(chunks) {
    const cut = createRangeRemover(removedRanges)
    for await (const chunk of chunks) yield* cut(chunk)
  }
}

/** Gives what of each chunk, in turn from the first, lies outside every cut. */
function createRangeRemover(removedRanges: readonly Range[]): (chunk: Buffer) => Buffer[] {
  let offset = 0
  return function cut(chunk) {
    const kept: Buffer[] = []
    let from = 0
    for (const [start, end] of removedRanges) {
      if (end <= offset + from || start >= offset + chunk.length) continue
      if (start > offset + from) kept.push(chunk.subarray(from, start - offset))
      from = Math.min(chunk.length, end - offset)
    }
    if (from < chunk.length) kept.push(chunk.subarray(from))
    offset += chunk.length
    return kept
  }
}
