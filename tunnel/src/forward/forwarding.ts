/** Forwarding of envelopes to Sentry, or without a DSN to the inbox: at once, or later from the spool. */

import { isAscii } from 'node:buffer'
import { networkOf } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import type { Bodies } from '../envelope/body/bodies.ts'
import type { Encoding } from '../envelope/body/decode.ts'
import { type MemoryBudget, OutOfMemoryBudget } from '../envelope/body/memory-budget.ts'
import { buildBody, changeCompressed, maxPlainBytes, type OutgoingBody } from '../envelope/body/outgoing.ts'
import type { Range } from '../envelope/body/ranges.ts'
import { identifyReceipt } from '../envelope/dedupe-key.ts'
import type { ClientReports } from '../pipeline/client-reports.ts'
import {
  accepted,
  type Context,
  type Outcome,
  type Parts,
  spooled,
  toMicroseconds,
} from '../pipeline/pipeline.ts'
import type { Projects } from '../pipeline/projects.ts'
import { ANSWER_BYTES, type Ending, type Keeping, type PutResult, type Spool } from '../pipeline/spool.ts'
import { Deliverer, LEASE_MS } from './delivery/delivery.ts'
import { LimitSharing } from './limits/limit-sharing.ts'
import { rateLimitsFor } from './limits/rate-limits.ts'
import type { UpstreamLimits } from './limits/upstream-limits.ts'
import { MonitoredSpool, type SpoolHealth } from './monitored-spool.ts'
import {
  buildSpoolBody,
  createSpoolEntry,
  describeEntry,
  type EntryDescription,
  isKept,
} from './spool-entry.ts'
import { compressBody, isCompressible, mayRefuseEncoding, RefusedEncodings } from './upstream/encodings.ts'
import { type DeliveryResult, NOT_SENT, type UpstreamResponse } from './upstream/request.ts'
import {
  type BreakerChange,
  type DeliveryAttempt,
  senderHeaders,
  type Transport,
  UpstreamClient,
  type UpstreamSettings,
  type Upstreams,
} from './upstream/upstream-client.ts'
import { isUnreachable, receiptErrorOf, upstreamErrorOf } from './upstream/upstream-errors.ts'

export type Forwarding = {
  upstreams: Upstreams
  refusedEncodings: RefusedEncodings
  spool: MonitoredSpool
  /** Share of the spool's bytes that one project may fill. */
  projectShare: number
  deliverer: Deliverer
  limitSharing: LimitSharing
  /** Envelopes that are being kept after their outcome. */
  keepingLater: number
}

/** Settings as the configuration has them. */
type ForwardingSettings = {
  upstream: UpstreamSettings
  /** Age in milliseconds at which an entry expires. */
  spool: { ageMs: number }
  /** Envelopes a second from the spool to one upstream at most. */
  spoolRate: number | undefined
  /** Accepted envelopes that stay; absent: none. */
  keep: { keeping: Keeping } | undefined
}

export type ForwardingDeps = {
  config: ForwardingSettings
  store: Spool
  /** Share of the spool's bytes that one project may fill. */
  projectShare: number
  projects: Projects
  limits: UpstreamLimits
  memory: MemoryBudget
  bodies: Bodies
  /** Monotonic, in milliseconds. */
  clock: () => number
  /** Milliseconds since 1970. */
  now: () => number
  /** Called with messages for the operator. */
  onNotice: (notice: string) => void
  onBreakerChange: (change: BreakerChange) => void
  onHealthChange: (health: SpoolHealth) => void
  /** Opens the connections to an upstream; by default to the server that the DSN names. */
  openTransport?: (() => Transport) | undefined
}

export function createForwarding(deps: ForwardingDeps): Forwarding {
  const { config, projects, store, projectShare, limits, clock, openTransport } = deps
  const spool = new MonitoredSpool(deps)
  const upstreams = new UpstreamClient(
    ...[projects.destinations, config.upstream, limits, clock, deps.onBreakerChange],
    openTransport,
  )
  const deliverer = new Deliverer({
    ...deps,
    spool: store,
    upstreams,
    maxAgeMs: config.spool.ageMs,
    maxRate: config.spoolRate,
    random: Math.random,
    keeping: config.keep?.keeping,
    onSpoolFault: (error) => spool.noteFault(error),
  })
  const limitSharing = new LimitSharing({ ...deps, state: store.state })
  const refusedEncodings = new RefusedEncodings(clock)
  return { upstreams, refusedEncodings, spool, projectShare, deliverer, limitSharing, keepingLater: 0 }
}

export type ForwardServices = {
  sentry: Forwarding
  bodies: Bodies
  reports: ClientReports
  memory: MemoryBudget
  /** Encoding of bodies that have arrived uncompressed. */
  upstreamEncoding: 'off' | 'gzip'
  /** Absent: accepted envelopes do not stay. */
  keeping: Keeping | undefined
  /** Called with errors of envelopes that could not be kept after their outcome. */
  onKeepFault: (error: unknown) => void
  /** Monotonic, in milliseconds. */
  clock: () => number
}

/** Request to Sentry: the ranges of the body that do not leave, or are replaced, and the headers. */
type Departure = { removed: Range[]; headers: string[] }

/** Fields of the context that forwarding reads, and those that it writes. */
type Forwarded = Parts<
  'incoming' | 'startedAt' | 'receipt' | 'client' | 'project' | 'envelope' | 'body' | 'scrubPage'
> &
  Parts<'remaining' | 'outgoingRanges' | 'isKeptBySender'> &
  Pick<Context, 'isLossReported' | 'addDerivedBody' | 'releaseAfter'>

type ForwardStage = (ctx: Forwarded) => Promise<Outcome>

/** Sends the envelope to Sentry. Spools it when Sentry has not accepted or declined it in time. */
export function forwardStage(services: ForwardServices): ForwardStage {
  return (ctx) => forward(ctx, services)
}

async function forward(ctx: Forwarded, services: ForwardServices): Promise<Outcome> {
  const { sentry, clock } = services
  const { receipt, client, project } = ctx
  const sentAt = clock()
  receipt.admitted_after_ms = toMicroseconds(sentAt - ctx.startedAt)
  const headers = senderHeaders(ctx.incoming.headers, client.address, ctx.scrubPage)
  const departure = { removed: ctx.outgoingRanges(), headers }
  const outgoing = await outgoingBody(ctx, departure, services)
  if (!outgoing) return spool(ctx, services, departure, undefined)
  const sent = await compress(ctx, outgoing, services)
  const sender = { network: networkOf(client.address) }
  let attempt = sentry.upstreams.post(project, sent, headers, sender)
  let result = await attempt.soon
  if (result !== 'late' && mayRefuseEncoding(result, sent.encoding)) {
    const plain = outgoing.encoding === 'identity' ? outgoing : await plainBody(ctx, departure, services)
    if (!plain) return spool(ctx, services, departure, undefined) // the spool sends it, within the share of its sender
    attempt = sentry.upstreams.send(project, plain, headers, sender)
    result = await attempt.soon
    if (isAccepted(result)) sentry.refusedEncodings.add(project.origin, sent.encoding)
  } else if (sent.encoding !== 'identity') attempt = withoutRefusals(attempt, sent.encoding)
  receipt.upstream_duration_ms = toMicroseconds(clock() - sentAt)
  if (result === 'late') {
    receipt.upstream_error = 'late'
    return spool(ctx, services, departure, attempt)
  }
  if (result.kind === 'answered') return keepAnswered(ctx, services, departure, answered(ctx, result.reply))
  if (result.status !== undefined) receipt.upstream_status = result.status
  if (result.message !== undefined) receipt.upstream_message = result.message
  const error = receiptErrorOf(result)
  if (error) receipt.upstream_error = error
  const mayBeItsOwn = upstreamErrorOf(result) !== undefined && !isUnreachable(result)
  return spool(ctx, services, departure, mayBeItsOwn ? attempt : undefined)
}

function isAccepted(result: DeliveryResult | 'late'): boolean {
  return result !== 'late' && result.kind === 'answered' && result.reply.status < 300
}

const NOT_RESENT: DeliveryResult = { kind: 'undecided', reason: NOT_SENT, status: undefined }

/** Treats an envelope as undecided if its sender has left and its encoding may be refused. The spool then sends it uncompressed. */
function withoutRefusals(attempt: DeliveryAttempt, encoding: Encoding): DeliveryAttempt {
  const { soon } = attempt
  return {
    soon,
    get final() {
      return attempt.final.then((result) => (mayRefuseEncoding(result, encoding) ? NOT_RESENT : result))
    },
    drop: () => attempt.drop(),
  }
}

/** Returns the body unchanged where compression saves little, and while it is likely to go to the spool, which gets it uncompressed. */
async function compress(
  ctx: Forwarded,
  outgoing: OutgoingBody,
  { sentry, upstreamEncoding, memory }: ForwardServices,
): Promise<OutgoingBody> {
  const { content, bytes, encoding } = outgoing
  const { origin } = ctx.project
  if (upstreamEncoding === 'off' || encoding !== 'identity' || 'handle' in ctx.body.wire) return outgoing
  if (sentry.upstreams.isOpen(origin) || sentry.refusedEncodings.has(origin, upstreamEncoding))
    return outgoing
  const pieces = isCompressible(bytes, ctx.remaining().items) ? content() : undefined
  const compressed = Array.isArray(pieces) && (await compressBody(pieces, memory))
  if (!compressed) return outgoing
  ctx.addDerivedBody(compressed)
  return buildBody(compressed, bytes, [])
}

/**
 * Builds the body that leaves: unmodified, or changed where ranges were removed or the upstream has refused its encoding. Returns `undefined`
 * when memory is short. A decompression bomb is rejected then: spooled, it would fill the disk.
 */
async function outgoingBody(
  ctx: Forwarded,
  departure: Departure,
  services: ForwardServices,
): Promise<OutgoingBody | undefined> {
  const { body, envelope, project } = ctx
  const { removed } = departure
  if (body.encoding === 'identity') return buildBody(body, envelope.bytes, removed)
  const isRefused = services.sentry.refusedEncodings.has(project.origin, body.encoding)
  if (removed.length === 0 && !(isRefused && isPlainAllowed(ctx))) return buildBody(body, envelope.bytes, [])
  try {
    return await change(ctx, removed, services.bodies)
  } catch (error) {
    const isBusy = error instanceof Rejection && error.code === 'tunnel-busy'
    if (isBusy && isPlainAllowed(ctx)) return undefined
    throw error
  }
}

/** Decompresses a body. Returns `undefined` when that is too much for this request. */
async function plainBody(
  ctx: Forwarded,
  { removed }: Departure,
  { bodies }: ForwardServices,
): Promise<OutgoingBody | undefined> {
  return isPlainAllowed(ctx) ? change(ctx, removed, bodies).catch(() => undefined) : undefined
}

function isPlainAllowed({ envelope, body }: Forwarded): boolean {
  return envelope.bytes <= maxPlainBytes(body.wireBytes)
}

async function change(ctx: Forwarded, removed: Range[], bodies: Bodies): Promise<OutgoingBody> {
  const changed = await changeCompressed(bodies, ctx.body, ctx.envelope.bytes, removed)
  ctx.addDerivedBody(changed)
  return buildBody(changed, changed.wireBytes, [])
}

/** Answers 200 once the envelope is on disk, synced. After that, nothing of a pending attempt is sent that has not begun. */
async function spool(
  ctx: Forwarded,
  services: ForwardServices,
  departure: Departure,
  attempt: DeliveryAttempt | undefined,
): Promise<Outcome> {
  const { sentry, reports } = services
  const { project, envelope } = ctx
  const pending = attempt?.final
  if (pending) ctx.releaseAfter(pending)
  const leaseMs = pending ? sentry.upstreams.attemptMs(envelope.bytes) + LEASE_MS : 0
  const result = await putIntoSpool(ctx, services, departure, leaseMs).catch((error: Error) => error)
  if (result instanceof Error || result.kind === 'full') {
    const final = await pending
    if (final?.kind === 'answered') return answered(ctx, final.reply)
    if (!ctx.isKeptBySender()) {
      reports.note(project, 'discarded_events', 'queue_overflow', ctx.remaining().items)
      ctx.isLossReported = true
    }
    throw notSpooled(result)
  }
  attempt?.drop()
  if (result.kind === 'known') return spooled(ctx, 'known')
  for (const victim of result.evicted) sentry.deliverer.evicted(victim)
  if (pending) sentry.deliverer.follow(result.lease, project, pending)
  return spooled(ctx, result.kind)
}

async function putIntoSpool(
  ctx: Forwarded,
  { sentry, bodies }: ForwardServices,
  { removed, headers }: Departure,
  leaseMs: number,
): Promise<PutResult> {
  const outgoing = await buildSpoolBody(ctx, bodies, removed)
  const spooled = await createSpoolEntry(describeEntry(ctx, headers), outgoing)
  return sentry.spool.put(spooled.entry, spooled.body, leaseMs)
}

const MAX_KEPT_LATER = 256 // each holds the body of its envelope

/**
 * Keeps an accepted envelope as `KEEP_HOURS` says, and a declined one as a dead letter. Without a DSN, the response waits until it is on disk.
 * Else it does not, and a failure does not change it; while 256 envelopes wait for a slow disk or a locked file, no more are kept.
 */
function keepAnswered(
  ctx: Forwarded,
  services: ForwardServices,
  departure: Departure,
  outcome: Outcome,
): Outcome | Promise<Outcome> {
  const { sentry, keeping, onKeepFault } = services
  if (keeping === 'all') return keepFirst(ctx, services, departure, outcome)
  const isDeclined = outcome.outcome === 'declined'
  if (!isDeclined && (outcome.outcome !== 'delivered' || keeping === undefined)) return outcome
  const described = describeEntry(ctx, departure.headers)
  if (!isDeclined && !isKept(described, keeping)) return outcome
  if (sentry.keepingLater >= MAX_KEPT_LATER) return outcome
  const after = async () => {
    sentry.keepingLater++
    await keep(ctx, services, departure.removed, described, endingOf(outcome)).catch(onKeepFault)
    sentry.keepingLater--
  }
  return { ...outcome, after }
}

async function keepFirst(
  ctx: Forwarded,
  services: ForwardServices,
  departure: Departure,
  outcome: Outcome,
): Promise<Outcome> {
  if (outcome.outcome !== 'delivered') return outcome
  await keep(
    ctx,
    services,
    departure.removed,
    describeEntry(ctx, departure.headers),
    endingOf(outcome),
  ).catch((error: Error) => {
    throw notSpooled(error)
  })
  return { ...outcome, ...accepted(ctx, outcome) }
}

async function keep(
  ctx: Forwarded,
  { sentry, bodies, keeping }: ForwardServices,
  removed: Range[],
  described: EntryDescription,
  ending: Ending,
): Promise<void> {
  const outgoing = await buildSpoolBody(ctx, bodies, removed)
  const { entry, body } = await createSpoolEntry(described, outgoing)
  const key = keeping === 'all' ? identifyReceipt(entry.receipt) : entry.key
  await sentry.spool.keep({ ...entry, key }, body, ending)
}

function endingOf({ outcome, status, body }: Outcome): Ending {
  if (outcome === 'delivered') return { state: 'kept', status }
  const answer = body === null ? undefined : Buffer.from(body).toString('utf8', 0, ANSWER_BYTES)
  return { state: 'declined', status, answer }
}

/** Passes Sentry's response on, with three of its headers. */
function answered(ctx: Forwarded, response: UpstreamResponse): Outcome {
  const { status, body, contentType, retryAfter } = response
  const rateLimits = rateLimitsFor(response, Date.now())
  ctx.receipt.upstream_status = status
  delete ctx.receipt.upstream_error // the response came late, and the spool did not take the envelope
  const headers: Record<string, string> = {}
  if (contentType) headers['content-type'] = contentType
  if (retryAfter) headers['retry-after'] = retryAfter
  if (rateLimits) headers['x-sentry-rate-limits'] = rateLimits
  return {
    outcome: status < 300 ? 'delivered' : status === 429 ? 'rate_limited' : 'declined',
    status,
    body: isAscii(body) ? body.toString('latin1') : body, // Node writes a string in one piece with the head
    headers,
  }
}

type Full = Extract<PutResult, { kind: 'full' }>

const FULL: Record<Full['reason'], string> = {
  bound: 'The spool has reached its maximum size.',
  'address-share': 'This client address has used its share of the spool.',
  'project-share': 'This project has used its share of the spool.',
}

function notSpooled(result: Error | Full): Rejection {
  if (!(result instanceof Error)) return new Rejection('spool-full', FULL[result.reason])
  if (result instanceof Rejection) return result
  if (!(result instanceof OutOfMemoryBudget)) return new Rejection('spool-unwritable')
  return new Rejection(
    'spool-unwritable',
    'Too many bodies are waiting to be written to the spool. Raise MEMORY_BYTES, or add a replica.',
  )
}
