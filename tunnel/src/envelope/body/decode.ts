/** Decompression and compression of bodies, as streams and within the memory budget. */

import { Readable, type Transform } from 'node:stream'
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
  createZstdCompress,
  createZstdDecompress,
} from 'node:zlib'
import { Rejection } from 'contract/rejections'
import { type MemoryBudget, OutOfMemoryBudget } from './memory-budget.ts'
import { type Range, removeRanges } from './ranges.ts'

export type Encoding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd'

// Encodings that Relay accepts (relay-server/src/middlewares/decompression.rs); old Ruby and Android SDKs send `utf-8` and the empty string.
const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['', 'identity'],
  ['identity', 'identity'],
  ['utf-8', 'identity'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
])

const KIB = 1024
const MIB = 1024 * KIB

export const BROWSER_WAIT_MS = 1_000 // for memory, while a browser waits

// A second stream after the first would be forwarded without having been parsed.
const DECODER_OPTIONS = { rejectGarbageAfterEnd: true, chunkSize: 64 * KIB }

type Decoder = {
  /** Upper bound of its memory: window and buffered chunks. */
  bytes: number
  create: () => Transform
}

const BASE_BYTES = 256 * KIB // without the window
const MAX_BROTLI_WINDOW = 16 * MIB // RFC 7932 §9.1
const MAX_ZSTD_WINDOW_LOG = 23 // RFC 9659: 8 MiB; a larger window is an error
const LIKELY_ZSTD_WINDOW_LOG = 21 // at default levels; frames after the first may need it

/** Chooses a decoder for a body that begins with `head`, which gives the window size. */
function decoderFor(encoding: Exclude<Encoding, 'identity'>, head: Buffer): Decoder {
  if (encoding === 'gzip') return { bytes: BASE_BYTES, create: () => createGunzip(DECODER_OPTIONS) }
  if (encoding === 'deflate') return { bytes: BASE_BYTES, create: () => createInflate(DECODER_OPTIONS) }
  if (encoding === 'br')
    return { bytes: BASE_BYTES + brotliWindow(head), create: () => createBrotliDecompress(DECODER_OPTIONS) }
  const windowLog = Math.max(LIKELY_ZSTD_WINDOW_LOG, zstdWindowLog(head))
  return {
    bytes: BASE_BYTES + 2 ** windowLog,
    create: () =>
      createZstdDecompress({ ...DECODER_OPTIONS, params: { [constants.ZSTD_d_windowLogMax]: windowLog } }),
  }
}

/** Returns the window size of a brotli stream in bytes (RFC 7932 §9.1). */
function brotliWindow([first]: Buffer): number {
  if (first === undefined) return MAX_BROTLI_WINDOW
  if ((first & 1) === 0) return 2 ** 16
  const high = (first >> 1) & 7
  if (high !== 0) return 2 ** (17 + high)
  const low = (first >> 4) & 7
  return low === 0 ? 2 ** 17 : low === 1 ? MAX_BROTLI_WINDOW : 2 ** (8 + low)
}

/** Returns the binary logarithm of the window size of a zstd frame, or the maximum when its header does not give one (RFC 8878 §3.1.1.1). */
function zstdWindowLog(head: Buffer): number {
  const [descriptor, window] = [head[4], head[5]]
  if (descriptor === undefined || window === undefined || (descriptor & 0x20) !== 0)
    return MAX_ZSTD_WINDOW_LOG
  return Math.min(MAX_ZSTD_WINDOW_LOG, 10 + (window >> 3) + ((window & 7) === 0 ? 0 : 1))
}

/** Returns an upper bound of the memory that compressing a body takes. */
function encoderBytes(bytes: number): number {
  return 4 * MIB + 3 * Math.min(8 * MIB, 2 ** Math.ceil(Math.log2(bytes + 1)))
}

/** Reads a Content-Encoding header. Throws a `Rejection` for encodings that Relay does not accept. */
export function readEncoding(header: string | undefined): Encoding {
  const encoding = ENCODINGS.get((header ?? '').trim().toLowerCase())
  if (!encoding) throw new Rejection('encoding-unknown')
  return encoding
}

/** Encoded body. `content` may be called several times. */
export type Encoded = {
  content: () => Iterable<Buffer> | Readable
  encoding: Encoding
  /** First bytes, from which a decoder is chosen. */
  head: Buffer
}

/** Decompresses a body. Throws a `Rejection` when it is corrupt, or when there is no memory for a decoder within 1 s. */
export async function* decompress(
  { content, encoding, head }: Encoded,
  memory: MemoryBudget,
): AsyncGenerator<Buffer> {
  if (encoding === 'identity') return yield* content()
  const decoder = decoderFor(encoding, head)
  const release = await acquire(memory, decoder.bytes, BROWSER_WAIT_MS)
  try {
    yield* decode(content(), decoder)
  } finally {
    release()
  }
}

/** Encoders of bodies that must stay compressed, see `outgoing.ts`: enough for long runs of a byte, and for repetitions within 1 MiB. */
const ENCODERS: Readonly<Record<Exclude<Encoding, 'identity'>, () => Transform>> = {
  gzip: createGzip,
  deflate: createDeflate,
  br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: LIKELY_ZSTD_WINDOW_LOG } }),
}

/** Change of a body, and its bounds. */
export type Rewriting = {
  /** Merged ranges of the decompressed bytes. */
  removedRanges: readonly Range[]
  /** Encoding of the result. */
  encoding: Encoding
  decompressedBytes: number
  /** Time to wait for memory. */
  waitMs: number
}

/** Decompresses a body, removes ranges, and encodes the result. Acquires all memory first, since two that hold one half each would deadlock. */
export async function* rewrite(
  { content, encoding: received, head }: Encoded,
  { removedRanges, encoding, decompressedBytes, waitMs }: Rewriting,
  memory: MemoryBudget,
): AsyncGenerator<Buffer> {
  const decoder = received === 'identity' ? undefined : decoderFor(received, head)
  const encoderMemory = encoding === 'identity' ? 0 : encoderBytes(decompressedBytes)
  const release = await acquire(memory, (decoder?.bytes ?? 0) + encoderMemory, waitMs)
  try {
    const changed = removeRanges(decoder ? decode(content(), decoder) : content(), removedRanges)
    yield* encoding === 'identity' ? changed : transform(changed, ENCODERS[encoding]())
  } finally {
    release()
  }
}

async function* decode(content: Iterable<Buffer> | Readable, { create }: Decoder): AsyncGenerator<Buffer> {
  try {
    yield* transform(content, create())
  } catch {
    throw new Rejection('encoding-broken')
  }
}

async function* transform(
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
  codec: Transform,
): AsyncGenerator<Buffer> {
  const source = Readable.from(content)
  source.on('error', (error) => codec.destroy(error))
  try {
    yield* source.pipe(codec)
  } finally {
    source.destroy()
    codec.destroy()
  }
}

async function acquire(memory: MemoryBudget, bytes: number, waitMs: number): Promise<() => void> {
  try {
    return await memory.acquire(bytes, waitMs)
  } catch (error) {
    throw error instanceof OutOfMemoryBudget ? new Rejection('tunnel-busy') : error
  }
}
