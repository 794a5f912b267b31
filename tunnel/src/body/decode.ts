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
import { type Memory, NoRoom } from './memory-budget.ts'

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

// A second stream behind the first would go on to Sentry without having been looked at.
const WHOLE = { rejectGarbageAfterEnd: true, chunkSize: 64 * KIB }

type Decoder = {
  /** The most memory that one takes: its window, and the pieces on their way. */
  bytes: number
  create: () => Transform
}

// Windows: RFC 1951 (32 KiB), RFC 7932 (16 MiB), RFC 9659 (8 MiB, above which a zstd frame is an error).
const DECODERS: Readonly<Record<Exclude<Encoding, 'identity'>, Decoder>> = {
  gzip: { bytes: 256 * KIB, create: () => createGunzip(WHOLE) },
  deflate: { bytes: 256 * KIB, create: () => createInflate(WHOLE) },
  br: { bytes: 17 * MIB, create: () => createBrotliDecompress(WHOLE) },
  zstd: {
    bytes: 9 * MIB,
    create: () => createZstdDecompress({ ...WHOLE, params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
  },
}
const ENCODER_BYTES = 28 * MIB // measured: of zstd with a window of 8 MiB, the largest
const WAIT_MS = 1_000 // for memory; a browser should not wait longer

/** Reads a Content-Encoding header. Throws a `Rejection` for what Relay does not take. */
export function readEncoding(header: string | undefined): Encoding {
  const encoding = ENCODINGS.get((header ?? '').trim().toLowerCase())
  if (!encoding) throw new Rejection('encoding-unknown')
  return encoding
}

/** Unpacks a body in pieces. Throws a `Rejection` when it does not unpack, or there is no memory for a decoder within 1 s. */
export async function* unpack(
  content: Iterable<Buffer> | Readable,
  encoding: Encoding,
  memory: Memory,
): AsyncGenerator<Buffer> {
  if (encoding === 'identity') return yield* content
  const giveBack = await borrow(memory, DECODERS[encoding].bytes)
  try {
    yield* decode(content, encoding)
  } finally {
    giveBack()
  }
}

async function* decode(content: Iterable<Buffer> | Readable, encoding: Encoding): AsyncGenerator<Buffer> {
  if (encoding === 'identity') return yield* content
  const source = Readable.from(content)
  const decoder = DECODERS[encoding].create()
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

/** Unpacks a body, changes it, and compresses it again, in pieces. Throws as `unpack` does. */
export async function* recompress(
  content: Iterable<Buffer> | Readable,
  encoding: Encoding,
  change: (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
  method: Method,
  memory: Memory,
): AsyncGenerator<Buffer> {
  const decoderBytes = encoding === 'identity' ? 0 : DECODERS[encoding].bytes
  const giveBack = await borrow(memory, decoderBytes + ENCODER_BYTES) // two that had one half each would wait for each other
  try {
    yield* encode(change(decode(content, encoding)), method)
  } finally {
    giveBack()
  }
}

/** Compresses in pieces. Throws a `Rejection` when there is no memory for an encoder within 1 s. */
export async function* compress(
  content: Iterable<Buffer> | Readable,
  method: Method,
  memory: Memory,
): AsyncGenerator<Buffer> {
  const giveBack = await borrow(memory, ENCODER_BYTES)
  try {
    yield* encode(content, method)
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

async function borrow(memory: Memory, bytes: number): Promise<() => void> {
  try {
    return await memory.borrow(bytes, WAIT_MS)
  } catch (error) {
    throw error instanceof NoRoom ? new Rejection('tunnel-busy') : error
  }
}
