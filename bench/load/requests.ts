/** Builds requests as nginx sends them to a tunnel, before the measurement begins. */

import { createCipheriv } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { capture } from '../../tests/support/sdk-captures.ts'

export type BodyKind = '3.3 KB error' | '40 KB span batch' | '150 KB replay' | '10 MB attachment'

/** Captures of real browsers, and the changes to them. The most frequent is the first, which gets the longest warm-up. */
const BODIES: Record<BodyKind, { captured: string; made?: (body: Buffer) => Buffer }> = {
  '3.3 KB error': { captured: 'nextjs-11.1.0-init-tunnel-2-event' },
  '40 KB span batch': { captured: 'nextjs-11.1.0-init-tunnel-3-span' },
  '150 KB replay': {
    captured: 'browser-11.12.0-replay-2',
    made: () => readFileSync(new URL('replay-large.bin', import.meta.url)), // of the same browser and SDK
  },
  '10 MB attachment': {
    captured: 'nextjs-11.1.0-init-tunnel-2-event',
    made: (body) => attach(body, 10_000_000),
  },
}

export const BODY_KINDS = Object.keys(BODIES) as BodyKind[]

/** Number of visitors: requests of one address would exceed its rate limit. */
const ADDRESSES = 256

const HOST = 'shop.example'
const NEVER_PASSED = ['host', 'connection', 'content-length', 'origin', 'referer']
const EVENT_ID = /"event_id":"([0-9a-f]{32})"/

/** Head of a request, and a body that requests may share. */
export type Request = readonly [head: Buffer, body: Buffer]

export type Requests = { all: readonly Request[]; bodyBytes: number }

/** Returns the path and query for a project's envelopes. */
export type PathOf = (project: string) => string

/** Returns the path and query that Culvert gives to browsers for a self-hosted Sentry. */
export const plainPath: PathOf = (project) => `/monitoring?p=${project}`

/** Builds requests with the same envelope from many addresses, for each of `dsns` in turn. Only the DSN in its header changes. */
export function buildRequests(kind: BodyKind, dsns: readonly string[], pathOf = plainPath): Requests {
  const { body, rawHeaders } = bodyOf(kind)
  const projects = dsns.map((dsn) => ({ path: pathOf(projectOf(dsn)), body: address(body, dsn) }))
  const all = Array.from({ length: Math.max(ADDRESSES, dsns.length) }, (_, i): Request => {
    const { path = '', body: own = body } = projects[i % projects.length] ?? {}
    return [buildHead(path, rawHeaders, i % ADDRESSES, own.length), own]
  })
  return { all, bodyBytes: projects[0]?.body.length ?? 0 }
}

/** Builds errors of one project, each a different event: a spool stores equal envelopes once. */
export function buildErrors(dsn: string, many: number): Requests {
  const { body, rawHeaders } = bodyOf('3.3 KB error')
  const text = address(body, dsn).toString('latin1')
  const [, captured = ''] = EVENT_ID.exec(text) ?? []
  const all = Array.from({ length: many }, (_, i): Request => {
    const id = (i + 1).toString(16).padStart(32, '0')
    const own = Buffer.from(text.replaceAll(captured, id), 'latin1')
    return [buildHead(plainPath(projectOf(dsn)), rawHeaders, i, own.length), own]
  })
  return { all, bodyBytes: text.length }
}

function bodyOf(kind: BodyKind): { body: Buffer; rawHeaders: readonly string[] } {
  const { captured, made } = BODIES[kind]
  const { body, rawHeaders } = capture(captured)
  return { body: made?.(body) ?? body, rawHeaders }
}

/** Replaces the items by one attachment of random bytes, like an image. */
function attach(body: Buffer, bytes: number): Buffer {
  const header = body.subarray(0, body.indexOf('\n') + 1)
  const item = { type: 'attachment', length: bytes, filename: 'screen.png', content_type: 'image/png' }
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16))
  return Buffer.concat([header, Buffer.from(`${JSON.stringify(item)}\n`), cipher.update(Buffer.alloc(bytes))])
}

function address(body: Buffer, dsn: string): Buffer {
  const end = body.indexOf('\n')
  const header = JSON.parse(body.toString('utf8', 0, end))
  if (typeof header.dsn !== 'string') throw new Error('the captured envelope has no DSN to rewrite')
  const at = body.indexOf(header.dsn)
  return Buffer.concat([body.subarray(0, at), Buffer.from(dsn), body.subarray(at + header.dsn.length)])
}

function projectOf(dsn: string): string {
  return new URL(dsn).pathname.slice(1)
}

function buildHead(path: string, rawHeaders: readonly string[], i: number, length: number): Buffer {
  const lines = [`POST ${path} HTTP/1.1`, `Host: ${HOST}`, `Content-Length: ${length}`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value] = rawHeaders.slice(at, at + 2)
    if (!NEVER_PASSED.includes(name.toLowerCase())) lines.push(`${name}: ${value}`)
  }
  lines.push(`Origin: https://${HOST}`, `Referer: https://${HOST}/`)
  // 198.18.0.0/15 is reserved for benchmarks (RFC 2544).
  lines.push(`X-Forwarded-For: 198.18.${(i >> 8) & 255}.${i & 255}`)
  lines.push(`X-Request-Id: ${(i + 1).toString(16).padStart(32, '0')}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}
