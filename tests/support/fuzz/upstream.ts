/** Sentry that accepts everything, and keeps each body until the test takes it. */

import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { listen } from '../listen.ts'

export type RecordingUpstream = Awaited<ReturnType<typeof startRecordingUpstream>>

/** Starts the server. `await using` stops it. */
export async function startRecordingUpstream() {
  const bodies = new Map<string, { encoding: string | undefined; body: Buffer }>()
  let count = 0
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    count++
    bodies.set(request.headers['user-agent'] ?? '', { encoding: request.headers['content-encoding'], body })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  return {
    ...(await listen(server)),
    /** Number of requests so far. */
    count: () => count,
    /** Returns the body that arrived with this user agent, once. */
    take(userAgent: string) {
      const body = bodies.get(userAgent)
      bodies.delete(userAgent)
      return body
    },
  }
}

export function decode({ encoding, body }: { encoding: string | undefined; body: Buffer }): Buffer {
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzipSync(body)
  if (encoding === 'br') return brotliDecompressSync(body)
  if (encoding === 'zstd') return zstdDecompressSync(body)
  if (encoding === 'deflate') return isZlib(body) ? inflateSync(body) : inflateRawSync(body)
  return body
}

/** Returns whether the bytes have a zlib header (RFC 1950): its two bytes are a multiple of 31. */
function isZlib(body: Buffer): boolean {
  return body.length >= 2 && body.readUInt16BE() % 31 === 0 && ((body[0] ?? 0) & 0x0f) === 8
}
