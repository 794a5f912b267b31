/** Compression of bodies for Sentry that have arrived uncompressed (`UPSTREAM_ENCODING`). */

import { promisify } from 'node:util'
import { gzip, gzipSync, zstdCompress, zstdCompressSync } from 'node:zlib'
import type { Body, Pieces } from '../../envelope/body/bodies.ts'
import type { MemoryBudget } from '../../envelope/body/memory-budget.ts'
import { createBody } from '../../envelope/body/own-body.ts'
import type { Item } from '../../envelope/items.ts'

export type UpstreamEncoding = 'gzip' | 'zstd'

const MIN_BYTES = 1024 // less would save about as much as one header
const MAX_BYTES = 1024 * 1024
const MAX_SIZE_LEFT = 0.9 // as a share
/** Types of items whose payloads are compressed already, or may be needed as they are (`security-reports.ts`). */
const COMPRESSED_TYPES = new Set(['attachment', 'replay_recording', 'replay_video', 'raw_security'])

const compressGzip = promisify<Buffer, Buffer>(gzip)
const compressZstd = promisify<Buffer, { pledgedSrcSize: number }, Buffer>(zstdCompress)

const POOL_BYTES = 64 * 1024 // smaller bodies take less time than the way to another thread and back, see docs/benchmarks.md

/** Without the size, zstd prepares for a large body, which takes 300 µs instead of 20. */
const ENCODERS: Record<UpstreamEncoding, (bytes: Buffer) => Buffer | Promise<Buffer>> = {
  gzip: (bytes) => (bytes.length > POOL_BYTES ? compressGzip(bytes) : gzipSync(bytes)),
  zstd(bytes) {
    const options = { pledgedSrcSize: bytes.length }
    return bytes.length > POOL_BYTES ? compressZstd(bytes, options) : zstdCompressSync(bytes, options)
  },
}

/** Tells if compressing an envelope of `bytes` is likely to save much. */
export function isCompressible(bytes: number, items: readonly Item[]): boolean {
  if (bytes < MIN_BYTES || bytes > MAX_BYTES) return false
  return !items.some(({ type }) => COMPRESSED_TYPES.has(type))
}

/** Resolves to `undefined` when it fails, for example because memory is short: an envelope must not be lost for it. */
async function encode(plain: Buffer, encoding: UpstreamEncoding): Promise<Buffer | undefined> {
  try {
    return await ENCODERS[encoding](plain)
  } catch {
    return undefined
  }
}

/** Compresses a body in memory, within the budget. Resolves to `undefined` when it stays about as large. */
export async function compressBody(
  pieces: Pieces,
  encoding: UpstreamEncoding,
  memory: MemoryBudget,
): Promise<Body | undefined> {
  const plain = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
  const compressed = await encode(plain, encoding)
  if (!compressed || compressed.length > plain.length * MAX_SIZE_LEFT) return undefined
  return createBody(compressed, memory, encoding)
}
