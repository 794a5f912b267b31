/** One POST to Sentry, and what its answer means. */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import type { OutgoingBody } from '../body/outgoing.ts'
import { gathered } from '../body/receive.ts'
import type { PostReport } from '../policy/client-reports.ts'
import type { AskedBy } from '../policy/rate-limits.ts'
import type { UpstreamLimits } from '../policy/upstream-limits.ts'
import type { Project } from '../projects.ts'
import { createTimeouts } from '../timer-queue.ts'
import { type Breaker, type BreakerState, createBreaker } from './breaker.ts'
import { type DeliveryResult, type RequestListeners, UnreadableBody, UpstreamRequest } from './request.ts'

/** One POST under way. Neither promise rejects, whatever the network or Sentry does. */
export type DeliveryAttempt = {
  /** What came of it, or that it is late: by then nobody should wait any longer. */
  soon: Promise<DeliveryResult | 'late'>
  final: Promise<DeliveryResult>
}

export type Upstreams = {
  /**
   * Posts once, with what `senderHeaders` gives; while the breaker is open, not at all, but for one now and then to see, which is late at
   * once, when nothing from the spool is tried.
   */
  post(project: Project, outgoing: OutgoingBody, headers: string[]): DeliveryAttempt
  /** Posts once, whatever the breaker says. */
  probe(project: Project, outgoing: OutgoingBody, headers: string[]): DeliveryAttempt
  /** How long an attempt with so many bytes may take, in milliseconds. */
  attemptMs(bytes: number): number
  isOpen(origin: string): boolean
  /** While the breaker is open: whether it is time to probe. */
  mayProbe(origin: string): boolean
  /** A probe is being made. */
  spendProbe(origin: string): void
  state(): UpstreamState[]
  /** Cuts off what is under way: a large envelope may take minutes. */
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

const BREAKER_OPEN: Promise<DeliveryResult> = Promise.resolve({
  kind: 'undecided',
  reason: 'breaker-open',
  status: undefined,
})
const LATE: Promise<'late'> = Promise.resolve('late')
const NOT_MADE: DeliveryAttempt = { soon: BREAKER_OPEN, final: BREAKER_OPEN }

type Upstream = { dispatcher: Dispatcher; breaker: Breaker }

/** How envelopes of one project go. */
type Route = Upstream & { listeners: RequestListeners }

/** One pool of kept-alive connections for each Sentry in the table. What answers ask to hold back, `limits` learns. `clock` in milliseconds. */
export function createUpstreams(
  projects: readonly Project[],
  settings: UpstreamSettings,
  limits: UpstreamLimits,
  clock: () => number,
): Upstreams {
  const origins = new Set(projects.map(({ origin }) => origin))
  const upstreams = new Map<string, Upstream>(
    [...origins].map((origin) => [
      origin,
      { dispatcher: openPool(origin, settings), breaker: createBreaker(clock) },
    ]),
  )
  const routes = new Map<Project, Route>(projects.map((project) => [project, routeOf(project)]))
  const lateMs = Math.min(settings.lateMs, settings.answerMs)
  const late = createTimeouts(lateMs)
  return {
    post,
    probe,
    attemptMs,
    isOpen: (origin) => find(origin).breaker.isOpen(),
    mayProbe: (origin) => find(origin).breaker.mayProbe(),
    spendProbe: (origin) => find(origin).breaker.spendProbe(),
    state,
    close,
  }

  function find(origin: string): Upstream {
    const upstream = upstreams.get(origin)
    if (!upstream) throw new Error(`${origin} is in no project`)
    return upstream
  }

  function routeOf(project: Project): Route {
    const { dispatcher, breaker } = find(project.origin)
    const learn = (delivery: DeliveryResult) => limits.learn(project, askedBy(delivery))
    return { dispatcher, breaker, listeners: { note: breaker.note, learn } }
  }

  function post(project: Project, outgoing: OutgoingBody, headers: string[]): DeliveryAttempt {
    const { breaker } = find(project.origin)
    if (!breaker.isOpen()) return probe(project, outgoing, headers)
    if (!breaker.isOverdue()) return NOT_MADE
    breaker.spendProbe()
    return { soon: LATE, final: probe(project, outgoing, headers).final }
  }

  function probe(project: Project, outgoing: OutgoingBody, headers: string[]): DeliveryAttempt {
    const { dispatcher, listeners } = routes.get(project) ?? routeOf(project)
    const request = new UpstreamRequest({ late, afterLateMs: attemptMs(outgoing.bytes) - lateMs }, listeners)
    const { origin, endpoint: path } = project
    const allHeaders = [...bodyHeaders(outgoing), ...headers]
    dispatcher.dispatch(
      { origin, method: 'POST', path, headers: allHeaders, body: contentOf(outgoing) },
      request,
    )
    return request
  }

  /** A large envelope takes its time to be sent; the answer's time is what Sentry needs on top of that. */
  function attemptMs(bytes: number): number {
    return settings.answerMs + Math.ceil((bytes / SLOW_UPLINK) * 1000)
  }

  function state(): UpstreamState[] {
    return [...upstreams].map(([origin, { breaker }]) => ({ origin, breaker: breaker.state() }))
  }

  async function close(): Promise<void> {
    await Promise.all([...upstreams.values()].map(({ dispatcher }) => dispatcher.destroy()))
  }
}

function contentOf({ content, bytes }: OutgoingBody): Buffer | Readable {
  const given = content()
  if (given instanceof Readable) return Readable.from(readable(given), { objectMode: false })
  const [first = Buffer.alloc(0), ...others] = gathered(given, bytes)
  return others.length === 0 ? first : (given as unknown as Readable) // undici takes any iterable; its types do not say so
}

/** A failure to read it is told from one of the upstream. */
async function* readable(content: Readable): AsyncGenerator<Buffer> {
  try {
    yield* content
  } catch (cause) {
    throw new UnreadableBody('it cannot be read to its end', { cause })
  }
}

const SLOW_UPLINK = 1024 * 1024 // bytes a second

/** Redirects are not followed: neither dispatcher does so by itself. Certificates are verified, as Node does by default. */
function openPool(origin: string, { connections, connectMs, proxies }: UpstreamSettings): Dispatcher {
  const options = {
    connections,
    connect: { timeout: connectMs },
    headersTimeout: 0, // each exchange has a deadline of its own
    bodyTimeout: 0,
    allowH2: false, // all of this is tried with HTTP/1.1; with 2 one connection's end is that of all that is under way
  }
  if (!proxies) return new Pool(origin, options)
  const { httpProxy = '', httpsProxy = '', noProxy = '' } = proxies
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy })
}

/** What an answer asks to hold back; limits may stand on any status, `Retry-After` speaks of them on Sentry's own answers only. */
function askedBy(delivery: DeliveryResult): AskedBy {
  if (delivery.kind === 'answered') return delivery.reply
  return { status: delivery.status ?? 0, rateLimits: delivery.rateLimits, retryAfter: undefined }
}

// What of the sender's headers Sentry may see (PROTOCOL §5): no cookie, no Authorization, no address that a browser wrote.
const PASSED_ON = [
  'user-agent',
  'origin',
  'referer',
  'sec-ch-ua',
  'sec-ch-ua-mobile',
  'sec-ch-ua-platform',
  'sec-ch-ua-platform-version',
  'sec-ch-ua-model',
  'sec-ch-ua-arch',
  'sec-ch-ua-bitness',
  'sec-ch-ua-full-version',
  'sec-ch-ua-full-version-list',
  'sec-ch-ua-wow64',
  'sec-ch-ua-form-factors',
]
const HEADER_LENGTH = 2048 // they are kept with what waits in the spool

/** What Sentry is told of the sender, as names and values in turn. */
export function senderHeaders(headers: IncomingHttpHeaders, address: string | undefined): string[] {
  const list = address ? ['x-forwarded-for', address, 'x-sentry-forwarded-for', address] : []
  for (const name of PASSED_ON) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '') list.push(name, value.slice(0, HEADER_LENGTH))
  }
  return list
}

function bodyHeaders({ bytes, encoding }: OutgoingBody): string[] {
  const list = ['content-type', 'application/x-sentry-envelope', 'content-length', String(bytes)]
  if (encoding !== 'identity') list.push('content-encoding', encoding)
  return list
}

/** Posts an envelope of our own; what comes back says only whether Sentry took it. */
export function postReport({ post }: Upstreams): PostReport {
  return async function postOwn(project, envelope) {
    const { final } = post(
      project,
      { content: () => [envelope], bytes: envelope.length, encoding: 'identity' },
      [],
    )
    return (await final).kind === 'answered'
  }
}
