/** Request as the recording Sentry received it, parsed leniently. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'

export type Item = { header: Record<string, unknown>; payload: Buffer }

export type Envelope = { header: Record<string, unknown>; items: Item[] }

export type Received = Envelope & {
  method: string
  /** Path and query of the request line. */
  url: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  /** Alternating names and values, as received. */
  rawHeaders: string[]
  /** Exactly as received. */
  body: Buffer
  /** With `Content-Encoding` undone. */
  decoded: Buffer
  remoteAddress: string
  /** Time when it had arrived completely, in milliseconds since 1970. */
  time: number
  /** Reason why `items` is empty, when the body is no envelope. */
  malformed?: string
}

/** Returns a filter for requests with an item type: `sentry.next(hasItem('event'))`. */
export function hasItem(type: string): (envelope: Envelope) => boolean {
  return ({ items }) => items.some(({ header }) => header.type === type)
}

/** Returns `true` for the probe of a circuit breaker: a client report without entries. */
export function isProbe({ items }: Envelope): boolean {
  const [item, ...others] = items
  if (item?.header.type !== 'client_report' || others.length > 0) return false
  return Object.keys(JSON.parse(String(item.payload))).join() === 'timestamp'
}

/** Returns the error in an envelope, if any. */
export function eventOf({ items }: Envelope) {
  const event = items.find(({ header }) => header.type === 'event')
  return event && JSON.parse(String(event.payload))
}

/** Reads the request to its end. Rejects when the sender disconnects before. */
export async function receive(request: IncomingMessage): Promise<Received> {
  const body = await buffer(request)
  const url = request.url ?? ''
  const { pathname, searchParams } = new URL(url, 'http://sentry.invalid')
  return {
    method: request.method ?? '',
    url,
    path: pathname,
    query: searchParams,
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body,
    ...unpack(body, request.headers['content-encoding']),
    remoteAddress: request.socket.remoteAddress ?? '',
    time: Date.now(),
  }
}

const DECODERS = new Map<string, (bytes: Buffer) => Buffer>([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
])

function unpack(
  body: Buffer,
  encoding: string | undefined,
): Envelope & { decoded: Buffer; malformed?: string } {
  try {
    const decoded = DECODERS.get(encoding ?? '')?.(body) ?? body
    return { decoded, ...parseEnvelope(decoded) }
  } catch (error) {
    return { decoded: body, header: {}, items: [], malformed: String(error) }
  }
}

/** Splits an envelope into its headers and payload bytes. Throws when it is none. */
export function parseEnvelope(bytes: Buffer): Envelope {
  const [header, afterHeader] = readLine(bytes, 0)
  const items: Item[] = []
  for (let at = afterHeader; at < bytes.length; ) {
    if (bytes[at] === NEWLINE) {
      at++
      continue
    }
    const [itemHeader, start] = readLine(bytes, at)
    const end = typeof itemHeader.length === 'number' ? start + itemHeader.length : lineEnd(bytes, start)
    if (end > bytes.length) throw new Error(`item ${items.length} says it is longer than the body`)
    items.push({ header: itemHeader, payload: bytes.subarray(start, end) })
    at = end + 1
  }
  return { header, items }
}

const NEWLINE = 0x0a

/** Returns the JSON object on the line at `start`, and the start of the next line. */
function readLine(bytes: Buffer, start: number): [Record<string, unknown>, number] {
  const end = lineEnd(bytes, start)
  return [JSON.parse(bytes.toString('utf8', start, end)), end + 1]
}

function lineEnd(bytes: Buffer, start: number): number {
  const end = bytes.indexOf(NEWLINE, start)
  return end < 0 ? bytes.length : end
}
