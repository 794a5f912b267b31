/** Compressed bodies: unpacked in pieces, never beyond a bound, and compressed again. All of it within one memory budget. */

import { Readable, type Transform } from 'node:stream'
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdCompress,
  createZstdDecompress,
} from 'node:zlib'
import { Rejection } from '../rejections.ts'
import { type MemoryBudget, OutOfMemoryBudget } from './memory-budget.ts'

export type Encoding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd'

// What Relay takes (relay-server/src/middlewares/decompression.rs); `utf-8` and the empty string come from old Ruby and Android SDKs.
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

// A second stream behind the first would go on to Sentry without having been looked at.
const WHOLE = { rejectGarbageAfterEnd: true, chunkSize: 64 * KIB }

type Decoder = {
  /** The most memory that one takes: its window, and the pieces on their way. */
  bytes: number
  create: () => Transform
}

const BASE_BYTES = 256 * KIB // of any of them, beside its window
const MAX_BROTLI_WINDOW = 16 * MIB // RFC 7932 §9.1
const MAX_ZSTD_WINDOW_LOG = 23 // RFC 9659: 8 MiB, above which a frame is an error
const LIKELY_ZSTD_WINDOW_LOG = 21 // of the level that encoders choose; frames behind the first may have it

/** Chooses a decoder for a body that begins with `head`, which says how large its window is. */
function decoderFor(encoding: Exclude<Encoding, 'identity'>, head: Buffer): Decoder {
  if (encoding === 'gzip') return { bytes: BASE_BYTES, create: () => createGunzip(WHOLE) }
  if (encoding === 'deflate') return { bytes: BASE_BYTES, create: () => createInflate(WHOLE) }
  if (encoding === 'br')
    return { bytes: BASE_BYTES + brotliWindow(head), create: () => createBrotliDecompress(WHOLE) }
  const windowLog = Math.max(LIKELY_ZSTD_WINDOW_LOG, zstdWindowLog(head))
  return {
    bytes: BASE_BYTES + 2 ** windowLog,
    create: () => createZstdDecompress({ ...WHOLE, params: { [constants.ZSTD_d_windowLogMax]: windowLog } }),
  }
}

/** Reads the window of a brotli stream, in bytes, from its first byte (RFC 7932 §9.1). */
function brotliWindow([first]: Buffer): number {
  if (first === undefined) return MAX_BROTLI_WINDOW
  if ((first & 1) === 0) return 2 ** 16
  const high = (first >> 1) & 7
  if (high !== 0) return 2 ** (17 + high)
  const low = (first >> 4) & 7
  return low === 0 ? 2 ** 17 : low === 1 ? MAX_BROTLI_WINDOW : 2 ** (8 + low)
}

/** Reads the logarithm of the window of a zstd frame, or the bound where it cannot be told (RFC 8878 §3.1.1.1). */
function zstdWindowLog(head: Buffer): number {
  const [descriptor, window] = [head[4], head[5]]
  if (descriptor === undefined || window === undefined || (descriptor & 0x20) !== 0)
    return MAX_ZSTD_WINDOW_LOG
  return Math.min(MAX_ZSTD_WINDOW_LOG, 10 + (window >> 3) + ((window & 7) === 0 ? 0 : 1))
}

/** The most memory that compressing a body of so many bytes takes. */
function encoderBytes(bytes: number): number {
  return 4 * MIB + 3 * Math.min(8 * MIB, 2 ** Math.ceil(Math.log2(bytes + 1)))
}

/** Reads a Content-Encoding header. Throws a `Rejection` for what Relay does not take. */
export function readEncoding(header: string | undefined): Encoding {
  const encoding = ENCODINGS.get((header ?? '').trim().toLowerCase())
  if (!encoding) throw new Rejection('encoding-unknown')
  return encoding
}

/** Bytes in an encoding: `content` opens them, and may do so again. */
export type Encoded = {
  content: () => Iterable<Buffer> | Readable
  encoding: Encoding
  /** Its first bytes, by which a decoder is chosen. */
  head: Buffer
}

/** Unpacks a body in pieces. Throws a `Rejection` when it does not unpack, or there is no memory for a decoder within 1 s. */
export async function* unpack(encoded: Encoded, memory: MemoryBudget): AsyncGenerator<Buffer> {
  const { content, encoding, head } = encoded
  if (encoding === 'identity') return yield* content()
  const decoder = decoderFor(encoding, head)
  const giveBack = await borrow(memory, decoder.bytes, BROWSER_WAIT_MS)
  try {
    yield* decode(content(), decoder)
  } finally {
    giveBack()
  }
}

async function* decode(content: Iterable<Buffer> | Readable, { create }: Decoder): AsyncGenerator<Buffer> {
  const source = Readable.from(content)
  const decoder = create()
  source.on('error', (error) => decoder.destroy(error))
  try {
    yield* source.pipe(decoder)
  } catch {
    throw new Rejection('encoding-broken')
  } finally {
    source.destroy()
    decoder.destroy()
  }
}

/**
 * Ways to compress. `runs` writes a repeated byte in next to nothing, `repeats` finds what repeats within 8 MiB, and `small` takes a
 * second for each MiB and makes the least of it.
 */
export type Method = 'runs' | 'repeats' | 'small'

const METHODS: Readonly<Record<Method, { encoding: 'br' | 'zstd'; create: () => Transform }>> = {
  runs: {
    encoding: 'br',
    create: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  },
  repeats: {
    encoding: 'zstd',
    create: () =>
      createZstdCompress({
        params: {
          [constants.ZSTD_c_compressionLevel]: 9,
          [constants.ZSTD_c_windowLog]: 23,
          [constants.ZSTD_c_enableLongDistanceMatching]: 1,
        },
      }),
  },
  small: {
    encoding: 'br',
    create: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  },
}

export function encodingOf(method: Method): Encoding {
  return METHODS[method].encoding
}

export type Change = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>

/** Rewriting of a body: its change, its compression and its bounds. */
export type Rewriting = {
  change: Change
  /** `plain` leaves it unpacked. */
  method: Method | 'plain'
  /** Bytes of it unpacked. */
  unpackedBytes: number
  /** Milliseconds that it may wait for memory. */
  waitMs: number
}

/** Unpacks a body, changes it, and compresses it again, in pieces. Nothing is opened before there is memory for all of it. */
export async function* rewrite(
  encoded: Encoded,
  rewriting: Rewriting,
  memory: MemoryBudget,
): AsyncGenerator<Buffer> {
  const { content, encoding, head } = encoded
  const { change, method, unpackedBytes, waitMs } = rewriting
  const decoder = encoding === 'identity' ? undefined : decoderFor(encoding, head)
  const encoder = method === 'plain' ? 0 : encoderBytes(unpackedBytes)
  const giveBack = await borrow(memory, (decoder?.bytes ?? 0) + encoder, waitMs) // two that had one half each would wait for each other
  try {
    const plain = decoder ? decode(content(), decoder) : Readable.from(content())
    yield* method === 'plain' ? change(plain) : encode(change(plain), method)
  } finally {
    giveBack()
  }
}

async function* encode(
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
  method: Method,
): AsyncGenerator<Buffer> {
  const source = Readable.from(content)
  const encoder = METHODS[method].create()
  source.on('error', (error) => encoder.destroy(error))
  try {
    yield* source.pipe(encoder)
  } finally {
    source.destroy()
    encoder.destroy()
  }
}

async function borrow(memory: MemoryBudget, bytes: number, waitMs: number): Promise<() => void> {
  try {
    return await memory.acquire(bytes, waitMs)
  } catch (error) {
    throw error instanceof OutOfMemoryBudget ? new Rejection('tunnel-busy') : error
  }
}
