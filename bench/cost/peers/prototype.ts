/**
 * Prototype: the least that a tunnel in Node.js has to do. It bounds the body, reads envelope and item headers, checks the DSN, limits each
 * client address, counts, logs and forwards. It has no spool, no deadlines, no decompression and no policies on payloads. With `--no-log` it
 * does not log.
 */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { parseArgs } from 'node:util'
import { type Dispatcher, Pool } from 'undici'
import { envelopeUrl } from '../../load/projects.ts'

type Summary = { dsn: unknown; types: string[] }

const MAX_BYTES = 200 * 1024 * 1024
const MAX_ENVELOPES = 10_000 // of one client address in a window
const WINDOW_MS = 10_000
const LOG_MS = 200
const PASSED_ON = ['user-agent', 'origin', 'referer']

const { values, positionals } = parseArgs({
  options: { 'no-log': { type: 'boolean' } },
  allowPositionals: true,
})
const [port, ...dsns] = positionals
const paths = new Map(dsns.map((dsn) => [dsn, envelopeUrl(dsn).path]))
const pool = new Pool(envelopeUrl(dsns[0] ?? '').origin, { connections: 64 })
const counts = new Map<string, number>()
const byAddress = new Map<string, number>()
let lines = ''
setInterval(() => byAddress.clear(), WINDOW_MS)
setInterval(() => {
  if (lines !== '') process.stdout.write(lines)
  lines = ''
}, LOG_MS)

createServer(({ headers }, response) => {
  response.req.on('error', () => {}) // the client has left
  const chunks: Buffer[] = []
  let bytes = 0
  response.req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= MAX_BYTES) chunks.push(chunk)
  })
  response.req.on('end', () => {
    const [only] = chunks
    const body = chunks.length === 1 && only ? only : Buffer.concat(chunks)
    const envelope = bytes <= MAX_BYTES ? readEnvelope(body) : undefined
    const path = paths.get(String(envelope?.dsn))
    if (!envelope || !path || !isWithinLimit(headers)) return finish(response, envelope, 400, 'rejected')
    pool.dispatch(
      { method: 'POST', path, headers: outgoingHeaders(headers, bytes), body },
      passOn(response, envelope),
    )
  })
}).listen(Number(port), '127.0.0.1', () => console.log('listening'))

/** Reads the headers of an envelope and of its items. Returns `undefined` for malformed ones. */
function readEnvelope(body: Buffer): Summary | undefined {
  try {
    const end = lineEnd(body, 0)
    const { dsn } = JSON.parse(body.toString('utf8', 0, end))
    const types: string[] = []
    for (let at = end + 1; at < body.length; ) {
      const payload = lineEnd(body, at) + 1
      const { type, length } = JSON.parse(body.toString('utf8', at, payload - 1))
      types.push(String(type))
      at = (typeof length === 'number' ? payload + length : lineEnd(body, payload)) + 1
    }
    return { dsn, types }
  } catch {
    return undefined
  }
}

function lineEnd(body: Buffer, from: number): number {
  const end = body.indexOf('\n', from)
  return end < 0 ? body.length : end
}

function isWithinLimit(headers: IncomingHttpHeaders): boolean {
  const address = String(headers['x-forwarded-for'])
  const count = (byAddress.get(address) ?? 0) + 1
  byAddress.set(address, count)
  return count <= MAX_ENVELOPES
}

function outgoingHeaders(headers: IncomingHttpHeaders, bytes: number): string[] {
  const list = ['content-type', 'application/x-sentry-envelope', 'content-length', String(bytes)]
  list.push('x-forwarded-for', String(headers['x-forwarded-for']))
  for (const name of PASSED_ON) {
    const value = headers[name]
    if (typeof value === 'string') list.push(name, value)
  }
  return list
}

function passOn(response: ServerResponse, envelope: Summary): Dispatcher.DispatchHandler {
  const chunks: Buffer[] = []
  let [status, type] = [502, 'application/json']
  return {
    onRequestStart() {},
    onResponseStart(_: unknown, upstreamStatus: number, headers: IncomingHttpHeaders) {
      status = upstreamStatus
      type = headers['content-type'] ?? type
    },
    onResponseData(_: unknown, chunk: Buffer) {
      chunks.push(chunk)
    },
    onResponseEnd() {
      finish(response, envelope, status, 'delivered', Buffer.concat(chunks).toString('latin1'), type)
    },
    onResponseError() {
      finish(response, envelope, 502, 'failed')
    },
  }
}

/** Counts and logs the outcome, and responds. */
function finish(
  response: ServerResponse,
  envelope: Summary | undefined,
  status: number,
  outcome: string,
  body = '{}',
  type = 'application/json',
): void {
  const types = envelope?.types ?? []
  for (const name of [outcome, ...types]) counts.set(name, (counts.get(name) ?? 0) + 1)
  const requestId = String(response.req.headers['x-request-id'])
  if (!values['no-log'])
    lines += `${JSON.stringify({ time: Date.now(), requestId, outcome, status, types })}\n`
  const headers = { 'content-type': type, 'content-length': body.length, 'x-request-id': requestId }
  response.writeHead(status, headers).end(body)
}
