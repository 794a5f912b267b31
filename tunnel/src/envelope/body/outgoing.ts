/** Outgoing bodies: unmodified, or without removed ranges. */

import { Readable } from 'node:stream'
import { Rejection } from 'contract/rejections'
import { type Bodies, type Body, type Pieces, wireContent } from './bodies.ts'
import { BROWSER_WAIT_MS, type Encoded, type Encoding } from './decode.ts'
import { createRangeRemover, type Range, removeRanges, sizeOfRanges } from './ranges.ts'

export type OutgoingBody = {
  content: () => Pieces | Readable
  bytes: number
  encoding: Encoding
  /** File that holds exactly these bytes, if there is one. */
  file?: string | undefined
}

/** Builds the outgoing body. Only a body that is not compressed can lose ranges here; see `changeCompressed`. */
export function buildBody(
  body: Body,
  decompressedBytes: number,
  removedRanges: readonly Range[],
): OutgoingBody {
  const { wire, wireBytes, encoding } = body
  if (removedRanges.length === 0) {
    const file = 'handle' in wire ? wire.path : undefined
    return { file, content: () => wireContent(body), bytes: wireBytes, encoding }
  }
  if (encoding !== 'identity') throw new Error('a compressed body must be decompressed')
  const bytes = decompressedBytes - sizeOfRanges(removedRanges)
  if ('handle' in wire) {
    const content = () =>
      Readable.from(removeRanges(body.decompressed(), removedRanges), { objectMode: false })
    return { content, bytes, encoding }
  }
  const kept = wire.flatMap(createRangeRemover(removedRanges))
  return { content: () => kept, bytes, encoding }
}

const SPOOL_WAIT_MS = 10_000
const MIB = 1024 * 1024
const MAX_EXPANSION = 100 // JSON expands 10 to 30 times, gzip at most 1,032 times

/** Returns the size up to which a compressed body may leave uncompressed: a few bytes must not make the tunnel send many. */
export function maxPlainBytes(wireBytes: number): number {
  return Math.max(MIB, MAX_EXPANSION * wireBytes)
}

/**
 * Changes a compressed body. The result is uncompressed, which every server accepts; above `maxPlainBytes` it keeps the encoding in which it
 * arrived. Throws a `Rejection` when it cannot be made small enough, and `tunnel-busy` without memory for it.
 */
export async function changeCompressed(
  bodies: Bodies,
  body: Body,
  decompressedBytes: number,
  removedRanges: readonly Range[],
): Promise<Body> {
  const maxBytes = maxPlainBytes(body.wireBytes) + Math.max(0, -sizeOfRanges(removedRanges)) // with remarks about what was scrubbed
  const encoding = decompressedBytes <= maxBytes ? 'identity' : body.encoding
  const rewriting = { removedRanges, encoding, decompressedBytes, waitMs: BROWSER_WAIT_MS }
  const changed = await bodies.rewrite(encodedOf(body), rewriting, maxBytes)
  if (changed) return changed
  throw new Rejection(
    'envelope-too-large',
    `After items were removed, the body would be more than ${MAX_EXPANSION} times as large as the received one.`,
  )
}

/** Decompresses a body for the spool, without the ranges. */
export async function decompressForSpool(
  bodies: Bodies,
  body: Body,
  decompressedBytes: number,
  removedRanges: readonly Range[],
): Promise<Body> {
  const rewriting = {
    removedRanges,
    encoding: 'identity',
    decompressedBytes,
    waitMs: SPOOL_WAIT_MS,
  } as const
  const plain = await bodies.rewrite(encodedOf(body), rewriting, Infinity)
  if (!plain) throw new Error('a body without a bound exceeds it')
  return plain
}

function encodedOf({ wire, encoding, head }: Body): Encoded {
  return { content: () => wireContent({ wire }), encoding, head }
}
