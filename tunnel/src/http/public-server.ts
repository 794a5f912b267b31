/** Public HTTP server. Requests that never reach the app get the JSON of a rejection instead of Node's empty response. */

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { Rejection, rejectionBody } from 'contract/rejections'
import type { Log } from '../observe/log.ts'
import { randomHex } from '../observe/random-hex.ts'
import type { AllowedHosts } from '../pipeline/hosts.ts'
import type { ClientResolver } from './client-address.ts'
import type { Ingest } from './ingest.ts'
import type { App } from './public-app.ts'

type PublicServerDeps = {
  app: App
  ingest: Pick<Ingest, 'handle'>
  allowedHosts: AllowedHosts
  /** Paths of envelopes. */
  envelopePaths: ReadonlySet<string>
  /** Removes the base path before a derived path. */
  withoutBasePath: (target: string) => string
  resolveClient: ClientResolver
  /** Called for each connection that is closed because there are too many. */
  onFull: () => void
  log: Pick<Log, 'logger'>
}

/** Options of Node's server, and its largest number of connections. */
type PublicServerOptions = ServerOptions & { maxConnections: number }

const IDLE_MS = 75_000 // longer than the minute for which proxies reuse an idle connection
const HEADERS_MS = 10_000 // as in deploy/nginx/limits.conf
const SLACK_MS = 5_000 // the pipeline rejects a late body itself, with a receipt
const CHECK_MS = 2_000
const MAX_CONNECTIONS = 4_096 // as one worker of nginx

const MAX_HEADER_BYTES = 64 * 1024 // above the 40 KiB that nginx accepts and the headers that it adds
const USUAL_HOST = /^[a-z0-9._-]+(:[1-5]?\d{1,4})?$/ // no URL that Hono's adapter would reject
const LINGER_MS = 2_000 // to read the rest of a rejected request: closing at once could destroy the response

/** Returns the timeouts and limits for slow and for too many senders. `bodyMs` is the time for a whole body, in milliseconds. */
export function publicServerOptions(bodyMs: number): PublicServerOptions {
  return {
    keepAliveTimeout: IDLE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: HEADERS_MS + bodyMs + SLACK_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxConnections: MAX_CONNECTIONS,
  }
}

/**
 * Creates the server. A POST of an envelope goes to the pipeline at once: the `Request` and `Response` of Hono's adapter would be a tenth
 * of its cost. Hono routes all other requests, and POSTs of which target or Host are written in an unusual way.
 */
export function createPublicServer(
  deps: PublicServerDeps,
  { maxConnections, ...options }: PublicServerOptions,
): Server {
  const { app, ingest, allowedHosts, envelopePaths, withoutBasePath, resolveClient, log, onFull } = deps
  const listener = getRequestListener(app.fetch, { errorHandler: leaveUnanswered })
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: false, ...options },
    (incoming, outgoing) => {
      if (!allowedHosts.has(incoming.headers.host)) {
        reject(new Rejection('host-unknown'), incoming, outgoing)
        return
      }
      incoming.url = withoutBasePath(incoming.url ?? '')
      const answered = isEnvelope(incoming) ? ingestEnvelope(incoming, outgoing) : route(incoming, outgoing)
      answered.catch((err: unknown) => {
        log.logger.error({ err }, 'a bug')
        outgoing.destroy()
      })
    },
  )
  server.maxConnections = maxConnections
  server.on('drop', () => {
    server.closeIdleConnections() // so that idle ones do not keep others out
    onFull()
  })
  server.on('clientError', rejectUnreadable)
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing)) // RFC 9110 §10.1.1 permits to ignore it
  return server

  function isEnvelope({ method, url = '', headers: { host = '' } }: IncomingMessage): boolean {
    if (method !== 'POST' || !USUAL_HOST.test(host)) return false
    const mark = url.indexOf('?')
    return envelopePaths.has(mark < 0 ? url : url.slice(0, mark))
  }

  function ingestEnvelope(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    return ingest.handle(incoming).then(({ status, headers, body }) => {
      if (body !== null) headers['content-length'] = String(Buffer.byteLength(body))
      outgoing.writeHead(status, headers).end(body)
      if (!incoming.readableEnded && !incoming.destroyed) drain(incoming)
    })
  }

  async function route(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    await listener(incoming, outgoing)
    if (!outgoing.headersSent) reject(new Rejection('request-malformed'), incoming, outgoing)
  }

  function reject(rejection: Rejection, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { body, headers } = describe(rejection, resolveClient(incoming).requestId)
    outgoing.writeHead(rejection.status, headers).end(body)
    if (!incoming.readableEnded && !incoming.destroyed) drain(incoming)
  }

  /** Rejects malformed and late requests. Node calls it again for bytes that arrive later. */
  function rejectUnreadable(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
    if (!socket.writable) return
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    const rejection = new Rejection(isLate ? 'body-timeout' : 'request-malformed')
    const { body, headers } = describe(rejection, givenRequestId(error.rawPacket) ?? randomHex())
    const lines = Object.entries({ ...headers, connection: 'close' }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    const head = [`HTTP/1.1 ${rejection.status} ${STATUS_CODES[rejection.status]}`, ...lines]
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }
}

/** Reads the rest of a rejected request, as Hono's adapter does: its sender could not read the response otherwise. */
function drain(incoming: IncomingMessage): void {
  const timer = setTimeout(() => incoming.socket.destroySoon(), LINGER_MS)
  incoming.once('close', () => clearTimeout(timer)).resume()
}

/** Hono's adapter fails only when target and Host make no URL; the app catches its own errors. */
function leaveUnanswered(): void {}

function describe(rejection: Rejection, requestId: string) {
  const body = rejectionBody(rejection, requestId)
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
  }
  return { body, headers }
}

/** Finds the request ID. Any peer may choose it, since it is only repeated in the response. */
function givenRequestId(packet: Buffer | undefined): string | undefined {
  return /\r\nX-Request-Id: ([0-9a-f]{32})\r\n/i.exec(packet?.toString('latin1') ?? '')?.[1]
}
