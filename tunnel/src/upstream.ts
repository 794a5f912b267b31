/** One POST to Sentry, and what its answer means. */

import type { IncomingHttpHeaders } from 'node:http'
import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import type { Parcel } from './body.ts'
import { type Breaker, type BreakerState, createBreaker } from './breaker.ts'
import type { PostReport } from './client-reports.ts'
import { type Delivery, Exchange } from './exchange.ts'
import type { Project } from './projects.ts'

export type Upstreams = {
  /** Posts once; never throws for what the network or Sentry does. */
  post(project: Project, parcel: Parcel, headers: string[]): Promise<Delivery>
  state(): UpstreamState[]
  close(): Promise<void>
}

export type UpstreamState = { origin: string; breaker: BreakerState }

export type UpstreamSettings = {
  /** Milliseconds to connect, for the whole answer, and past which an answer counts as late. */
  connectMs: number
  answerMs: number
  lateMs: number
  /** Sockets per upstream. */
  connections: number
  /** Proxies by the usual variables; `undefined` when none is set. */
  proxies: ProxySettings | undefined
}

export type ProxySettings = {
  httpProxy: string | undefined
  httpsProxy: string | undefined
  noProxy: string | undefined
}

type Upstream = { dispatcher: Dispatcher; breaker: Breaker }

/** One pool of kept-alive connections for each Sentry in the table. `clock` in milliseconds. */
export function createUpstreams(
  projects: readonly Project[],
  settings: UpstreamSettings,
  clock: () => number,
): Upstreams {
  const origins = new Set(projects.map(({ origin }) => origin))
  const upstreams = new Map<string, Upstream>(
    [...origins].map((origin) => [
      origin,
      { dispatcher: openPool(origin, settings), breaker: createBreaker(clock) },
    ]),
  )
  return { post, state, close }

  function post(project: Project, parcel: Parcel, headers: string[]): Promise<Delivery> {
    const upstream = upstreams.get(project.origin)
    if (!upstream) throw new Error(`${project.origin} is in no project`)
    const { dispatcher, breaker } = upstream
    if (!breaker.allows())
      return Promise.resolve({ kind: 'undecided', why: 'breaker-open', status: undefined })
    return new Promise((resolve) => {
      const exchange = new Exchange(settings, breaker.note, resolve)
      dispatcher.dispatch(
        { origin: project.origin, method: 'POST', path: project.endpoint, headers, body: parcel.content },
        exchange,
      )
    })
  }

  function state(): UpstreamState[] {
    return [...upstreams].map(([origin, { breaker }]) => ({ origin, breaker: breaker.state() }))
  }

  async function close(): Promise<void> {
    await Promise.all([...upstreams.values()].map(({ dispatcher }) => dispatcher.close()))
  }
}

/** Redirects are not followed: neither dispatcher does so by itself. Certificates are verified, as Node does by default. */
function openPool(
  origin: string,
  { connections, connectMs, answerMs, proxies }: UpstreamSettings,
): Dispatcher {
  const options = {
    connections,
    connect: { timeout: connectMs },
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
  }
  if (!proxies) return new Pool(origin, options)
  const { httpProxy = '', httpsProxy = '', noProxy = '' } = proxies
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy })
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

/** Posts an envelope of our own; what comes back says only whether Sentry took it. */
export function postReport({ post }: Upstreams): PostReport {
  return async function postOwn(project, envelope) {
    const parcel: Parcel = { content: envelope, bytes: envelope.length, encoding: 'identity' }
    const delivery = await post(project, parcel, upstreamHeaders({}, undefined, parcel))
    return delivery.kind === 'answered'
  }
}
