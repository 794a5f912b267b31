/** Outgoing bodies: unmodified, or without removed ranges. */

import { Readable } from 'node:stream'
import { Rejection } from '../rejections.ts'
import { BROWSER_WAIT_MS, type Encoded, type Encoding, type Method, type Rewriting } from './decode.ts'
import { createRangeRemover, type Range, removeRanges, sizeOfRanges } from './ranges.ts'
import { type Bodies, type Body, type Pieces, wireContent } from './receive.ts'

export type OutgoingBody = {
  content: () => Pieces | Readable
  bytes: number
  encoding: Encoding
  /** File that holds exactly these bytes, if there is one. */
  file?: string | undefined
}

/** Builds the outgoing body. Only a body that is not compressed can lose ranges here; see `recompressWithoutRanges`. */
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
  if (encoding !== 'identity') throw new Error('a compressed body must be recompressed')
  const bytes = decompressedBytes - sizeOfRanges(removedRanges)
  if ('handle' in wire) {
    const content = () =>
      Readable.from(removeRanges(body.decompressed(), removedRanges), { objectMode: false })
    return { content, bytes, encoding }
  }
  const kept = wire.flatMap(createRangeRemover(removedRanges))
  return { content: () => kept, bytes, encoding }
}

const SLACK_BYTES = 1024
const SMALL_BYTES = 256 * 1024 // a browser can wait until these are compressed with `small`
const RUN_RATIO = 100 // bodies that compress better hold long runs of one byte
const SPOOL_WAIT_MS = 10_000

/** Returns the size at which a compressed body may leave: its own and a tenth, and 1 KiB for tiny ones. */
function targetBytes(wireBytes: number): number {
  return Math.floor(wireBytes * 1.1) + SLACK_BYTES
}

/** Returns the size above which a body is rejected. No honest sender compresses so much better than we do. */
function maxBytes(wireBytes: number): number {
  return Math.floor(wireBytes * 1.25) + SLACK_BYTES
}

/**
 * Compresses a compressed body again without the ranges: a few bytes that decompress to many must not leave as many. Throws a
 * `Rejection` when it cannot be made about as small as before, and `tunnel-busy` without memory for it.
 */
export async function recompressWithoutRanges(
  bodies: Bodies,
  body: Body,
  decompressedBytes: number,
  removedRanges: readonly Range[],
): Promise<Body> {
  const { wireBytes } = body
  const addedBytes = Math.max(0, -sizeOfRanges(removedRanges)) // remarks about what was scrubbed
  const rewriting = { removedRanges, decompressedBytes, waitMs: BROWSER_WAIT_MS }
  const smaller = await compress(bodies, encodedOf(body), rewriting, wireBytes)
  if (smaller.wireBytes <= maxBytes(wireBytes) + addedBytes) return smaller
  await smaller.release()
  throw new Rejection(
    'envelope-too-large',
    'After items were removed, the recompressed body would be larger than the received one.',
  )
}

/** Decompresses a body for the spool, without the ranges. */
export async function decompressForSpool(
  bodies: Bodies,
  body: Body,
  decompressedBytes: number,
  removedRanges: readonly Range[],
): Promise<Body> {
  const rewriting = { removedRanges, method: 'plain', decompressedBytes, waitMs: SPOOL_WAIT_MS } as const
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
  const rewriting = { removedRanges: [], decompressedBytes: bytes, waitMs: SPOOL_WAIT_MS }
  return compress(bodies, encoded, rewriting, wireBytes)
}

/** Tries compression methods until one result is about as small as `wireBytes`, and returns the smallest. */
async function compress(
  bodies: Bodies,
  encoded: Encoded,
  rewriting: Omit<Rewriting, 'method'>,
  wireBytes: number,
): Promise<Body> {
  let best: Body | undefined
  try {
    for (const method of methodsFor(rewriting.decompressedBytes, wireBytes)) {
      const limit = best ? best.wireBytes - 1 : Infinity
      const smaller = await bodies.rewrite(encoded, { ...rewriting, method }, limit)
      if (smaller) await best?.release()
      best = smaller ?? best
      if (best && best.wireBytes <= targetBytes(wireBytes)) break
    }
  } catch (error) {
    await best?.release()
    throw error
  }
  if (!best) throw new Error('no method was tried')
  return best
}

function methodsFor(bytes: number, wireBytes: number): Method[] {
  const methods: Method[] = bytes > RUN_RATIO * wireBytes ? ['runs', 'repeats'] : ['repeats', 'runs']
  return bytes <= SMALL_BYTES ? [...methods, 'small'] : methods
}

function encodedOf({ wire, encoding, head }: Body): Encoded {
  return { content: () => wireContent({ wire }), encoding, head }
}
