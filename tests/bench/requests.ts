/** Requests as nginx hands them to a tunnel, written out before the clock starts. */

import { capture } from '../helpers/captures.ts'

export type BodyKind = keyof typeof CAPTURES

/** A session's worth each of what browsers really sent. */
const CAPTURES = {
  '3.3 KB error': 'nextjs-11.1.0-init-tunnel-2-event',
  '40 KB span batch': 'nextjs-11.1.0-init-tunnel-3-span',
  '150 KB replay': 'browser-11.12.0-replay-large',
}

export const BODY_KINDS = Object.keys(CAPTURES) as BodyKind[]

/** As many visitors: more than an address may send by itself would be shed, and rightly. */
const ADDRESSES = 256

const HOST = 'shop.example'
const NEVER_PASSED = ['host', 'connection', 'content-length', 'origin', 'referer']

export type Requests = { all: readonly Buffer[]; bodyBytes: number }

/** The same envelope from many addresses, for each of `dsns` in turn. Only the DSN in the envelope's header is rewritten. */
export function buildRequests(kind: BodyKind, dsns: readonly string[]): Requests {
  const { body, dsn: captured = '', rawHeaders } = capture(CAPTURES[kind])
  const bodies = dsns.map((dsn) => replaceOnce(body, captured, dsn))
  const count = Math.max(ADDRESSES, dsns.length)
  const all = Array.from({ length: count }, (_, i) =>
    buildRequest(rawHeaders, i, bodies[i % bodies.length] ?? body),
  )
  return { all, bodyBytes: bodies[0]?.length ?? 0 }
}

function replaceOnce(body: Buffer, from: string, to: string): Buffer {
  const at = body.indexOf(from)
  if (from === '' || at < 0) throw new Error('the captured envelope has no DSN to rewrite')
  return Buffer.concat([body.subarray(0, at), Buffer.from(to), body.subarray(at + from.length)])
}

function buildRequest(rawHeaders: readonly string[], i: number, body: Buffer): Buffer {
  const lines = ['POST /monitoring HTTP/1.1', `Host: ${HOST}`, `Content-Length: ${body.length}`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value] = rawHeaders.slice(at, at + 2)
    if (!NEVER_PASSED.includes(name.toLowerCase())) lines.push(`${name}: ${value}`)
  }
  lines.push(`Origin: https://${HOST}`, `Referer: https://${HOST}/`)
  // 198.18.0.0/15 is set aside for benchmarks (RFC 2544).
  lines.push(`X-Forwarded-For: 198.18.${(i >> 8) & 255}.${i & 255}`)
  lines.push(`X-Request-Id: ${(i + 1).toString(16).padStart(32, '0')}`)
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body])
}
