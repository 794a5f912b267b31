/** A compressed body, unpacked in pieces and never beyond a bound. */

import { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { type Body, wireContent } from './body.ts'
import { Rejection } from './rejection.ts'

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

const UNPACKERS = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

// A second stream behind the first would go on to Sentry without having been looked at.
const WHOLE = { rejectGarbageAfterEnd: true }

/** Reads a Content-Encoding header. Throws a `Rejection` for what Relay does not take. */
export function readEncoding(header: string | undefined): Encoding {
  const encoding = ENCODINGS.get((header ?? '').trim().toLowerCase())
  if (!encoding) throw new Rejection('encoding-unknown')
  return encoding
}

/** The body's unpacked bytes, in pieces. Throws a `Rejection` when they do not unpack. */
export async function* unpacked(body: Body): AsyncGenerator<Buffer> {
  const content = wireContent(body)
  if (body.encoding === 'identity') return yield* content
  const source = Readable.from(content)
  const unpacker = UNPACKERS[body.encoding](WHOLE)
  source.on('error', (error) => unpacker.destroy(error))
  try {
    yield* source.pipe(unpacker)
  } catch {
    throw new Rejection('encoding-broken')
  } finally {
    source.destroy()
    unpacker.destroy()
  }
}

/**
 * Feeds the unpacked bytes of a compressed body to `take`. Throws a `Rejection` past `maxBytes`, whatever the compressed size was: a
 * bomb costs no more than that.
 */
export async function unpackInto(body: Body, maxBytes: number, take: (chunk: Buffer) => void): Promise<void> {
  let bytes = 0
  for await (const chunk of unpacked(body)) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new Rejection('envelope-too-large', `Unpacked, it is larger than ${maxBytes} bytes.`)
    take(chunk)
  }
}
