/** Recording Sentry: fails on request, and fails the test on every unexpected request. */

import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { freePort } from '../../../scripts/start/free-port.ts'
import { faultsOf, type Projects } from './expected-request.ts'
import { isProbe, type Received, receive } from './received-request.ts'
import { type Answering, give } from './responses.ts'

export type SentryOptions = {
  /** Projects; `456` with one key unless given. `dsn()` returns the first. */
  projects?: Projects
  /** Address to listen on; 127.0.0.1 unless given. */
  host?: string
  /** Port; a free one unless given. */
  port?: number
  /** Speaks HTTPS with these PEM texts. */
  tls?: { key: string; cert: string }
}

export type DsnParts = { key?: string; path?: string; host?: string }

export type Sentry = Awaited<ReturnType<typeof startSentry>>

const KEY = '0123456789abcdef0123456789abcdef'
const ELSEWHERE = '/elsewhere'

/** Starts the server on a free port. `await using` stops it, and throws for unexpected requests. */
export async function startSentry(options: SentryOptions = {}) {
  const { projects = { 456: KEY }, host = '127.0.0.1', tls } = options
  const requests: Received[] = []
  const probes: Received[] = []
  const taken = new Set<Received>()
  const unexpected: string[] = []
  const arrivals = new EventEmitter<{ request: []; idle: [] }>()
  const closing = new AbortController()
  const state = {
    answering: {} as Answering,
    once: [] as Answering[],
    tolerant: false,
    allowsAborts: false,
    inHand: 0,
    cut: 0,
    absences: 0, // times that its port was closed
  }

  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  server.keepAliveTimeout = 60_000 // longer than any test: a reused connection is never just being closed
  const canary = createServer((request, response) => {
    // Its port may have been that of a tunnel whose admin port is still queried.
    if (request.url?.startsWith(ELSEWHERE))
      unexpected.push(`${request.method} ${request.url} followed a redirect`)
    response.end()
  })
  const [sockets, canarySockets] = [socketsOf(server), socketsOf(canary)]
  await listen(server, host, options.port ?? (await freePort())) // reserved while the server is away
  await listen(canary, '127.0.0.1')
  const port = portOf(server)
  const elsewhere = `http://127.0.0.1:${portOf(canary)}${ELSEWHERE}`

  function listener(request: IncomingMessage, response: ServerResponse): void {
    state.inHand++
    response.once('close', () => {
      if (--state.inHand === 0) arrivals.emit('idle')
    })
    const { absences } = state
    handle(request, response).catch((error) => {
      response.destroy()
      const mayAbort = state.allowsAborts || state.absences > absences // the server itself has cut it off
      const isForgiven = mayAbort && 'code' in error && error.code === 'ECONNRESET'
      if (!closing.signal.aborted && !isForgiven)
        unexpected.push(`${request.method} ${request.url}: ${error}`)
    })
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if ((state.once[0] ?? state.answering) === 'hanging-up-early') {
      state.once.shift()
      state.cut++
      request.destroy()
      return
    }
    const received = await receive(request)
    const answering = (isProbe(received) ? undefined : state.once.shift()) ?? state.answering
    const faults = faultsOf(received, projects)
    unexpected.push(...faults.map((fault) => `${received.method} ${received.url} ${fault}`))
    ;(isProbe(received) ? probes : requests).push(received)
    arrivals.emit('request')
    const answer = typeof answering === 'function' ? await answering(received) : answering
    const [fault] = state.tolerant ? [] : faults
    const due = fault ? { status: 400, body: { detail: fault } } : answer
    await give(due, received, response, elsewhere, closing.signal)
  }

  /** Returns the earliest request not returned yet that `wanted` accepts, and waits up to `timeout` ms for it. */
  async function next(
    wanted: (received: Received) => boolean = () => true,
    { timeout = 90_000 }: { timeout?: number } = {},
  ): Promise<Received> {
    const signal = AbortSignal.timeout(timeout)
    for (;;) {
      const found = requests.find((received) => !taken.has(received) && wanted(received))
      if (found) {
        taken.add(found)
        return found
      }
      await once(arrivals, 'request', { signal }).catch(() => {
        throw new Error(`No such request within ${timeout} ms. Sentry received ${summaryOf(requests)}`)
      })
    }
  }

  async function close(): Promise<void> {
    closing.abort()
    await Promise.all([end(server, sockets), end(canary, canarySockets)])
    if (unexpected.length > 0 && !state.tolerant)
      throw new Error(`Sentry received what it should not have:\n  ${[...new Set(unexpected)].join('\n  ')}`)
  }

  return {
    port,
    url: `${tls ? 'https' : 'http'}://${host}:${port}`,
    /** All complete requests, in the order of arrival, without the probes of circuit breakers. */
    requests,
    probes,
    /** Unexpected requests, one sentence each. */
    unexpected,
    /** Returns a DSN of this server; `host` replaces its address and port when a test reroutes it. */
    dsn(projectId = Object.keys(projects)[0] ?? '', parts: DsnParts = {}): string {
      const { key = projects[projectId] ?? KEY, path, host: name = `${host}:${port}` } = parts
      return `${tls ? 'https' : 'http'}://${key}@${name}/${path ? `${path}/` : ''}${projectId}`
    },
    next,
    /** Resolves when no request is pending. */
    async idle(): Promise<void> {
      if (state.inHand > 0) await once(arrivals, 'idle')
    },
    /** Sets the response to the following requests. */
    answer(answering: Answering): void {
      state.answering = answering
    },
    /** Sets the response to the next request; several form a queue. */
    once(answering: Answering): void {
      state.once.push(answering)
    },
    /** Connections dropped by `hanging-up-early`. */
    get cut(): number {
      return state.cut
    },
    /** Expects incomplete requests, as from a tunnel that is killed. */
    allowAborts(): void {
      state.allowsAborts = true
    },
    /** Responds to faulty requests as to good ones, and does not throw for them at the end. */
    allowUnexpected(): void {
      state.tolerant = true
    },
    /** Closes the port: connections are refused. */
    away(): Promise<void> {
      state.absences++
      return end(server, sockets)
    },
    /** Opens the same port again. */
    back: () => listen(server, host, port),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Reads the certificate of `tests/fixtures/tls`, for `tls`. */
export function readCertificate(): { key: string; cert: string } {
  const read = (file: string) =>
    readFileSync(new URL(`../../fixtures/tls/${file}.pem`, import.meta.url), 'utf8')
  return { key: read('key'), cert: read('cert') }
}

/** Closes every connection, also during its handshake: `closeAllConnections` would wait for those. */
function socketsOf(server: Server): Set<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

async function listen(server: Server, host: string, port = 0): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}

async function end(server: Server, sockets: Iterable<Socket>): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  for (const socket of sockets) socket.destroy()
  await closed
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function summaryOf(requests: Received[]): string {
  if (requests.length === 0) return 'nothing.'
  return requests.map(({ url, items }) => `\n  ${url} ${items.map(({ header }) => header.type)}`).join('')
}
