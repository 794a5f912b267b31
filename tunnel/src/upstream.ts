/** One POST to Sentry, and what its answer means. */

import type { IncomingHttpHeaders } from 'node:http'
import { type Dispatcher, errors, Pool } from 'undici'
import type { Parcel } from './body.ts'
import type { Project } from './projects.ts'

/** What Sentry answered, as far as it goes on to the sender. */
export type Reply = {
  status: number
  body: Buffer<ArrayBuffer>
  contentType: string | undefined
  retryAfter: string | undefined
  rateLimits: string | undefined
}

export type Delivery =
  /** Sentry took it, declined it, or asked to hold back: its answer stands. */
  | { kind: 'answered'; reply: Reply }
  /** Sentry did not decide: not reached, too slow, or an answer that is none of Sentry's (`DESIGN.md` §3). */
  | { kind: 'undecided'; why: string; status: number | undefined }

export type Upstreams = {
  /** Posts once; never throws for what the network or Sentry does. */
  post(project: Project, parcel: Parcel, headers: string[]): Promise<Delivery>
  close(): Promise<void>
}

export type UpstreamSettings = {
  /** Milliseconds to connect, and for the whole answer. */
  connectMs: number
  answerMs: number
  /** Sockets per upstream. */
  connections: number
}

const MAX_REPLY_BYTES = 64 * 1024 // Sentry's answers hold a few dozen bytes

export function createUpstreams(settings: UpstreamSettings): Upstreams {
  const pools = new Map<string, Dispatcher>()
  return { post, close }

  /** At most one pool for each origin in the table, so that the map is as bounded as the configuration. */
  function poolOf(origin: string): Dispatcher {
    const known = pools.get(origin)
    if (known) return known
    const pool = new Pool(origin, {
      connections: settings.connections,
      connect: { timeout: settings.connectMs },
      headersTimeout: settings.answerMs,
      bodyTimeout: settings.answerMs,
    })
    pools.set(origin, pool)
    return pool
  }

  async function post(project: Project, parcel: Parcel, headers: string[]): Promise<Delivery> {
    try {
      const response = await poolOf(project.origin).request({
        method: 'POST',
        path: project.endpoint,
        headers,
        body: parcel.content,
      })
      return judge(response.statusCode, response.headers, await readCapped(response.body))
    } catch (error) {
      return { kind: 'undecided', why: nameOf(error), status: undefined }
    }
  }

  async function close(): Promise<void> {
    await Promise.all([...pools.values()].map((pool) => pool.close()))
  }
}

async function readCapped(body: Dispatcher.ResponseData['body']): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_REPLY_BYTES) throw new errors.ResponseExceededMaxSizeError()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function judge(status: number, headers: IncomingHttpHeaders, body: Buffer<ArrayBuffer>): Delivery {
  const contentType = one(headers['content-type'])
  if (!isDecided(status, contentType, body)) return { kind: 'undecided', why: `status-${status}`, status }
  return {
    kind: 'answered',
    reply: {
      status,
      body,
      contentType,
      retryAfter: one(headers['retry-after']),
      rateLimits: one(headers['x-sentry-rate-limits']),
    },
  }
}

/** Statuses that say nothing of the envelope; 401, 403 and 404 are Sentry's only when they carry its JSON (a proxy's do not). */
function isDecided(status: number, contentType: string | undefined, body: Buffer): boolean {
  if (status >= 500 || (status >= 300 && status < 400)) return false
  if (status === 408 || status === 421 || status === 425) return false
  if (status === 401 || status === 403 || status === 404) return isSentryError(contentType, body)
  return true
}

/** Relay's `ApiErrorResponse` (relay-server/src/utils/api.rs) is JSON with a `detail`. */
function isSentryError(contentType: string | undefined, body: Buffer): boolean {
  if (!contentType?.includes('json')) return false
  try {
    return typeof JSON.parse(body.toString()).detail === 'string'
  } catch {
    return false
  }
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** undici's and Node's own codes (`UND_ERR_CONNECT_TIMEOUT`, `ECONNREFUSED`): a closed set, and no part of a URL. */
function nameOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'unknown'
}

// What of the sender's headers Sentry may see (PROTOCOL §5): no cookie, no Authorization, no address that a browser wrote.
const PASSED_ON = ['user-agent', 'origin', 'referer'] as const

/** The headers of the POST to Sentry, as names and values in turn. */
export function upstreamHeaders(
  headers: IncomingHttpHeaders,
  address: string | undefined,
  parcel: Parcel,
): string[] {
  const list = ['content-type', 'application/x-sentry-envelope', 'content-length', String(parcel.bytes)]
  if (parcel.encoding !== 'identity') list.push('content-encoding', parcel.encoding)
  if (address) list.push('x-forwarded-for', address, 'x-sentry-forwarded-for', address)
  for (const name of PASSED_ON) {
    const value = headers[name]
    if (value) list.push(name, value)
  }
  for (const name in headers) {
    const value = headers[name]
    if (name.startsWith('sec-ch-ua') && typeof value === 'string') list.push(name, value)
  }
  return list
}
