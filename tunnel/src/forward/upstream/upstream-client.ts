/** HTTP client for every Sentry in the project table: connection pools, circuit breakers, request headers. */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { UpstreamErrorClass } from 'contract/upstream'
import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import { joinSmall } from '../../envelope/body/bodies.ts'
import type { OutgoingBody } from '../../envelope/body/outgoing.ts'
import { emptyReport, type PostReport } from '../../pipeline/client-reports.ts'
import type { Project } from '../../pipeline/projects.ts'
import type { RateLimitHeaders } from '../limits/rate-limits.ts'
import type { UpstreamLimits } from '../limits/upstream-limits.ts'
import { consequencesOf } from '../retry-policy.ts'
import { Breaker, type BreakerState, type RequestResult } from './breaker.ts'
import { Connections } from './connections.ts'
import { Declines } from './declines.ts'
import type { Refusal, RefusingResponse, Sender } from './failures.ts'
import {
  BodyReadError,
  BREAKER_OPEN,
  type DeliveryAttempt,
  type DeliveryResult,
  type RequestListener,
  UpstreamRequest,
} from './request.ts'
import { type SecurityDelivery, SecurityReports, securityEndpoint, sendAgain } from './security-reports.ts'
import { type LastError, type UpstreamError, UpstreamErrors } from './upstream-errors.ts'

/** Sender of an envelope, for the circuit breaker: the network of the client, and the spool entry. */
export type EnvelopeSender = Omit<Sender, 'project'>

/** Connections to one upstream. */
export type Transport = {
  dispatch(options: Dispatcher.DispatchOptions, request: UpstreamRequest): unknown
  destroy(): Promise<void>
}

export type UpstreamState = {
  origin: string
  /** CSP reports go to the endpoint `/security/`; absent: in envelopes. */
  cspReports?: 'endpoint'
  breaker: BreakerState
  /** Projects whose last envelopes were refused or declined. */
  refusals: { project: Project; refusal: Refusal; networks?: number }[]
  lastError: LastError | undefined
  hasResponded: boolean
  errorCounts: ReadonlyMap<UpstreamErrorClass, number>
}

/** Change of a circuit breaker: the errors in a row for which it opened, or that came before it closed. Without errors it was slow. */
export type BreakerChange = {
  upstream: string
  isOpen: boolean
  error: (UpstreamError & { count: number }) | undefined
}

export type UpstreamSettings = {
  /** Milliseconds to connect, from the first byte sent to the end of the response, and after which a response counts as late. */
  connectMs: number
  answerMs: number
  lateMs: number
  /** Sockets per upstream. */
  connections: number
  /** Way of CSP reports; `auto` by default. */
  cspReports?: SecurityDelivery
  /** Proxies from the usual variables; `undefined` when none is set. */
  proxies: ProxySettings | undefined
}

export type ProxySettings = {
  httpProxy: string | undefined
  httpsProxy: string | undefined
  noProxy: string | undefined
}

const OPEN = Promise.resolve<DeliveryResult>({ kind: 'undecided', reason: BREAKER_OPEN, status: undefined })
const NOT_ATTEMPTED: DeliveryAttempt = { soon: OPEN, final: OPEN, drop: () => {} }
const CONTENT_TYPES = { envelope: 'application/x-sentry-envelope', security: 'application/csp-report' }
const SLOW_UPLINK = 1024 * 1024 // bytes per second
const PROBE_LOOK_MS = 250

type Upstream = {
  projects: readonly Project[]
  transport: Transport
  connections: Connections
  breaker: Breaker
  errors: UpstreamErrors
  declines: Declines
  /** Number of probes so far. */
  probes: number
}

/** Public part of `UpstreamClient`. */
export type Upstreams = Pick<UpstreamClient, keyof UpstreamClient>

/** One pool of kept-alive connections and one breaker per upstream. `limits` learns the rate limits in responses. */
export class UpstreamClient {
  readonly #upstreams: ReadonlyMap<string, Upstream>
  readonly #limits: UpstreamLimits
  readonly #onBreakerChange: (change: BreakerChange) => void
  readonly #reports: SecurityReports
  readonly #answerMs: number
  readonly #lateMs: number
  readonly #probing: NodeJS.Timeout

  /** `clock` is monotonic, in milliseconds. */
  constructor(
    projects: readonly Project[],
    settings: UpstreamSettings,
    limits: UpstreamLimits,
    clock: () => number,
    onBreakerChange: (change: BreakerChange) => void = () => {},
    openTransport: (origin: string) => Transport = (origin) => openPool(origin, settings),
  ) {
    this.#onBreakerChange = onBreakerChange
    this.#reports = new SecurityReports(settings.cspReports ?? 'auto', limits)
    this.#answerMs = settings.answerMs
    this.#lateMs = Math.min(settings.lateMs, settings.answerMs)
    this.#limits = limits
    const byOrigin = Map.groupBy(projects, ({ origin }) => origin)
    this.#upstreams = new Map(
      Array.from(byOrigin, ([origin, ofOrigin]) => [
        origin,
        {
          projects: ofOrigin,
          transport: openTransport(origin),
          connections: new Connections(settings.connections),
          breaker: new Breaker(clock),
          errors: new UpstreamErrors(clock),
          declines: new Declines(clock),
          probes: 0,
        },
      ]),
    )
    this.#probing = setInterval(() => this.#probe(), PROBE_LOOK_MS).unref()
  }

  /** Posts once, unless the breaker holds the sender back. */
  post(project: Project, outgoing: OutgoingBody, headers: string[], sender: EnvelopeSender): DeliveryAttempt {
    const { breaker } = this.#find(project.origin)
    if (breaker.holdsBack({ ...sender, project: project.key })) return NOT_ATTEMPTED
    return this.send(project, outgoing, headers, sender)
  }

  /** Posts once, also while the breaker is open. */
  send(project: Project, outgoing: OutgoingBody, headers: string[], sender: EnvelopeSender): DeliveryAttempt {
    const report = this.#reports.read(project, outgoing)
    if (!report) return this.#request(project, outgoing, headers, sender, 'envelope')
    const sendReport = () => this.#request(project, report, headers, sender, 'security')
    if (this.#reports.usesEndpoint(project)) return sendReport()
    const first = this.#request(project, outgoing, headers, sender, 'envelope')
    return sendAgain(first, () => (this.#reports.usesEndpoint(project) ? sendReport() : undefined))
  }

  /**
   * Sends a client report without entries to each upstream whose breaker is open, for one project after the other, and to each project of which
   * all envelopes fail. It needs no traffic, and no envelope that the upstream may refuse for itself.
   */
  #probe(): void {
    for (const upstream of this.#upstreams.values()) {
      const { projects, breaker } = upstream
      if (breaker.mayProbe()) this.#sendReport(projects[upstream.probes++ % projects.length])
      if (breaker.isOpen()) continue
      for (const project of projects) if (breaker.failures.mayTry(project.key)) this.#sendReport(project)
    }
  }

  #sendReport(project: Project | undefined): void {
    if (project) this.send(project, reportBody(emptyReport(project, Date.now())), [], { network: '' })
  }

  #request(
    project: Project,
    outgoing: OutgoingBody,
    headers: string[],
    sender: EnvelopeSender,
    endpoint: 'envelope' | 'security',
  ): UpstreamRequest {
    const path = endpoint === 'envelope' ? project.endpoint : securityEndpoint(project)
    const { origin } = project
    const { transport, connections } = this.#find(origin)
    const { bytes } = outgoing
    const job = { bytes, start: dispatch }
    const maxMs = this.attemptMs(bytes)
    const limits = { bytes, lateMs: this.#lateMs, maxMs, transferMs: maxMs - this.#answerMs }
    const request = new UpstreamRequest(
      limits,
      this.#listen(project, sender, () => connections.release(job)),
    )
    connections.add(job)
    return request

    function dispatch(): void {
      request.isDispatched = true
      const allHeaders = ['content-type', CONTENT_TYPES[endpoint]].concat(bodyHeaders(outgoing), headers) // one array of its final size
      const body = contentOf(outgoing)
      transport.dispatch({ origin, method: 'POST', path, headers: allHeaders, body }, request)
    }
  }

  /** Returns how long an attempt may take once it is sent, in milliseconds: the time to send the body, and the response time. */
  attemptMs(bytes: number): number {
    return this.#answerMs + Math.ceil((bytes / SLOW_UPLINK) * 1000)
  }

  /** Returns how many more deliveries may begin from the spool, of which `active` are under way. Live traffic keeps some connections. */
  spareConnections(origin: string, active: number): number {
    return this.#find(origin).connections.spare(active)
  }

  isOpen(origin: string): boolean {
    return this.#find(origin).breaker.isOpen()
  }

  /** Returns `true` while envelopes of a project that are in the spool may be sent: the upstream decides on some. */
  mayDeliver({ origin, key }: Project): boolean {
    const { breaker } = this.#find(origin)
    return breaker.isDeciding() && !breaker.failures.isFailing(key)
  }

  /** Returns `true` when failures of this sender say nothing about the upstream, which has decided on others meanwhile. */
  blames({ origin, key }: Project, sender: EnvelopeSender): boolean {
    return this.#find(origin).breaker.failures.isOwn({ ...sender, project: key })
  }

  /** Returns the failures that an entry has alone, and its refusals. */
  failuresOf(entry: string, { origin, key }: Project): { own: number; refusal: Refusal | undefined } {
    const { failures } = this.#find(origin).breaker
    return { own: failures.ownFailures(entry, key), refusal: failures.refusal(entry) }
  }

  /** Reports whether Sentry has responded to the last attempt of this tunnel. */
  isResponding(origin: string): boolean {
    return this.#find(origin).errors.isResponding
  }

  state(): UpstreamState[] {
    return [...this.#upstreams].map(([origin, { projects, breaker, errors, declines }]) => ({
      origin,
      ...(projects.some((project) => this.#reports.usesEndpoint(project)) && {
        cspReports: 'endpoint' as const,
      }),
      breaker: breaker.state(),
      refusals: projects.flatMap((project) => {
        const refusal = breaker.failures.refusal(project.key)
        const decline = declines.of(project)
        return [
          ...(refusal ? [{ project, refusal }] : []),
          ...(decline ? [{ project, refusal: decline, networks: decline.networks }] : []),
        ]
      }),
      lastError: errors.last,
      hasResponded: errors.hasResponded,
      errorCounts: errors.counts,
    }))
  }

  /** Aborts pending requests: a large one may take minutes. */
  async close(): Promise<void> {
    clearInterval(this.#probing)
    await Promise.all([...this.#upstreams.values()].map(({ transport }) => transport.destroy()))
  }

  #listen(project: Project, { network, entry }: EnvelopeSender, release: () => void): RequestListener {
    const { breaker, errors, declines } = this.#find(project.origin)
    const sender = { project: project.key, network, entry }
    let after: 'late' | undefined
    const note = (result: RequestResult, refusing?: RefusingResponse) => {
      const wasOpen = breaker.isOpen()
      breaker.note(result, sender, { refusing, after })
      const isOpen = breaker.isOpen()
      if (isOpen === wasOpen) return
      const error = result === 'late' ? undefined : errors.last
      this.#onBreakerChange({ upstream: project.origin, isOpen, error })
    }
    return {
      onLate: () => {
        note('late')
        after = 'late'
      },
      onEnd: (result, timing) => {
        errors.note(result)
        declines.note(project, network, result)
        this.#limits.learn(project, rateLimitHeadersOf(result))
        const { counts, ends } = consequencesOf(result)
        if (counts === 'decision') note(timing)
        else if (counts !== 'nothing')
          note(counts, ends === 'declined-in-time' ? refusalIn(result) : undefined)
        release()
      },
    }
  }

  #find(origin: string): Upstream {
    const upstream = this.#upstreams.get(origin)
    if (!upstream) throw new Error(`${origin} is in no project`)
    return upstream
  }
}

/** Returns the response of a server that refuses an envelope. */
function refusalIn(result: DeliveryResult): RefusingResponse | undefined {
  if (result.kind === 'answered' || result.status === undefined) return undefined
  return { status: result.status, message: result.message }
}

function contentOf({ content, bytes }: OutgoingBody): Buffer | Readable {
  const opened = content()
  if (opened instanceof Readable) return Readable.from(readable(opened), { objectMode: false })
  const [first = Buffer.alloc(0), ...others] = joinSmall(opened, bytes)
  return others.length === 0 ? first : (opened as unknown as Readable) // undici takes any iterable; its types do not say so
}

/** Distinguishes a failure to read the body from one of the upstream. */
async function* readable(content: Readable): AsyncGenerator<Buffer> {
  try {
    yield* content
  } catch (cause) {
    throw new BodyReadError('it cannot be read to its end', { cause })
  }
}

/** Neither dispatcher follows redirects. Certificates are verified, Node's default. */
function openPool(origin: string, { connections, connectMs, proxies }: UpstreamSettings): Dispatcher {
  const options = {
    connections,
    connect: { timeout: connectMs },
    headersTimeout: 0, // each request has its own deadline
    bodyTimeout: 0,
    allowH2: false, // with HTTP/2 the end of one connection would end all pending requests
  }
  if (!proxies) return new Pool(origin, options)
  const { httpProxy = '', httpsProxy = '', noProxy = '' } = proxies
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy })
}

/** Extracts the headers that set rate limits: `Retry-After` only from Sentry's own responses. */
function rateLimitHeadersOf(result: DeliveryResult): RateLimitHeaders {
  if (result.kind === 'answered') return result.reply
  return { status: result.status ?? 0, rateLimits: result.rateLimits, retryAfter: undefined }
}

// Sender's headers that Sentry may see: no cookie, no Authorization, no address that a browser wrote.
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
/** Relay reads the first two, Bugsink by default the third. */
const ADDRESS_HEADERS = ['x-forwarded-for', 'x-sentry-forwarded-for', 'x-real-ip']
const MAX_HEADER_LENGTH = 2048 // they are stored in the spool

/** Builds the request headers that describe the sender, as alternating names and values. `scrubPage` scrubs the URL of the page. */
export function senderHeaders(
  headers: IncomingHttpHeaders,
  address: string | undefined,
  scrubPage: (url: string) => string = (url) => url,
): string[] {
  const list: string[] = []
  if (address) for (const name of ADDRESS_HEADERS) list.push(name, address)
  for (const name of PASSED_ON) {
    const value = headers[name]
    if (typeof value !== 'string' || value === '') continue
    const shown = name === 'referer' ? scrubPage(value) : value
    list.push(name, shown.slice(0, MAX_HEADER_LENGTH))
  }
  return list
}

function bodyHeaders({ bytes, encoding }: OutgoingBody): string[] {
  const list = ['content-length', String(bytes)]
  if (encoding !== 'identity') list.push('content-encoding', encoding)
  return list
}

/** Returns a function that posts an envelope of our own, and returns whether Sentry received it. */
export function postReport(upstreams: Upstreams): PostReport {
  return async function postOwn(project, envelope) {
    const { final } = upstreams.post(project, reportBody(envelope), [], { network: '' })
    return (await final).kind === 'answered'
  }
}

function reportBody(envelope: Buffer): OutgoingBody {
  return { content: () => [envelope], bytes: envelope.length, encoding: 'identity' }
}
