/** Forwarding of envelopes to Sentry, or without a DSN to the inbox: at once, or later from the spool. */

import { isAscii } from 'node:buffer'
import { Readable } from 'node:stream'
import { networkOf } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import type { Bodies } from '../envelope/body/bodies.ts'
import { type MemoryBudget, OutOfMemoryBudget } from '../envelope/body/memory-budget.ts'
import { buildBody, changeCompressed, maxPlainBytes, type OutgoingBody } from '../envelope/body/outgoing.ts'
import type { Range } from '../envelope/body/ranges.ts'
import { identifyReceipt } from '../envelope/dedupe-key.ts'
import type { ClientReports } from '../pipeline/client-reports.ts'
import {
  accepted,
  type Context,
  type Outcome,
  type Stage,
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
import { compressBody, isCompressible, type UpstreamEncoding } from './upstream/compression.ts'
import { UpstreamEncodings } from './upstream/encodings.ts'
import type { UpstreamResponse } from './upstream/request.ts'
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
  encodings: UpstreamEncodings
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
  const encodings = new UpstreamEncodings(upstreams, clock)
  const limitSharing = new LimitSharing({ ...deps, state: store.state })
  return { upstreams, encodings, spool, projectShare, deliverer, limitSharing, keepingLater: 0 }
}

export type ForwardServices = {
  sentry: Forwarding
  bodies: Bodies
  reports: ClientReports
  memory: MemoryBudget
  /** Encoding of bodies that have arrived uncompressed; `undefined`: none. */
  upstreamEncoding: UpstreamEncoding | undefined
  /** Absent: accepted envelopes do not stay. */
  keeping: Keeping | undefined
  /** Called with errors of envelopes that could not be kept after their outcome. */
  onKeepFault: (error: unknown) => void
  /** Monotonic, in milliseconds. */
  clock: () => number
}

/** Sends the envelope to Sentry. Spools it when Sentry has not accepted or declined it in time. */
export function forwardStage(services: ForwardServices): Stage {
  return (ctx) => forward(ctx, services)
}

async function forward(ctx: Context, services: ForwardServices): Promise<Outcome> {
  const { sentry, bodies, clock } = services
  const { receipt, envelope, client } = ctx
  const sentAt = clock()
  receipt.admitted_after_ms = toMicroseconds(sentAt - ctx.startedAt)
  const removed = ctx.outgoingRanges()
  const headers = senderHeaders(ctx.incoming.headers, client.address, ctx.scrubPage)
  const outgoing = await outgoingBody(ctx, removed, services)
  if (!outgoing) return spool(ctx, services, removed, headers, undefined)
  const isOpen = sentry.upstreams.isOpen(ctx.project.origin)
  const sender = { network: networkOf(client.address) }
  const sent = isOpen ? outgoing : await compress(ctx, outgoing, services)
  const attempt = sentry.encodings.post(ctx.project, sent, headers, sender, async () => {
    if (outgoing.encoding === 'identity') return outgoing
    if (envelope.bytes <= maxPlainBytes(ctx.body.wireBytes)) return change(ctx, removed, bodies)
    throw new Error('the spool sends it, within the share of its sender')
  })
  const result = await attempt.soon
  receipt.upstream_duration_ms = toMicroseconds(clock() - sentAt)
  if (result === 'late') {
    receipt.upstream_error = attempt.isConnecting ? 'breaker-open' : 'late'
    return spool(ctx, services, removed, headers, attempt)
  }
  if (result.kind === 'answered') {
    const isAccepted = result.reply.status < 300
    if (services.upstreamEncoding && isAccepted)
      sentry.encodings.prove(ctx.project, services.upstreamEncoding)
    return keepAnswered(ctx, services, removed, headers, answered(ctx, result.reply))
  }
  if (result.status !== undefined) receipt.upstream_status = result.status
  if (result.message !== undefined) receipt.upstream_message = result.message
  const error = receiptErrorOf(result)
  if (error) receipt.upstream_error = error
  const mayBeItsOwn = upstreamErrorOf(result) !== undefined && !isUnreachable(result)
  return spool(ctx, services, removed, headers, mayBeItsOwn ? attempt : undefined)
}

/** Returns the body unchanged where compression saves little. The spool gets it uncompressed. */
async function compress(
  ctx: Context,
  outgoing: OutgoingBody,
  { sentry, upstreamEncoding, memory }: ForwardServices,
): Promise<OutgoingBody> {
  const { content, bytes, encoding } = outgoing
  const isPlain = encoding === 'identity' && !('handle' in ctx.body.wire)
  if (!upstreamEncoding || !isPlain || !isCompressible(bytes, ctx.remaining().items)) return outgoing
  const pieces = content()
  if (pieces instanceof Readable || !sentry.encodings.mayCompress(ctx.project.origin, upstreamEncoding))
    return outgoing
  const compressed = await compressBody(pieces, upstreamEncoding, memory)
  if (!compressed) return outgoing
  ctx.derivedBodies.push(compressed)
  return buildBody(compressed, bytes, [])
}

/**
 * Builds the body that leaves: unmodified, or changed where ranges were removed or the upstream has refused its encoding. Returns `undefined`
 * when memory is short. A decompression bomb is rejected then: spooled, it would fill the disk.
 */
async function outgoingBody(
  ctx: Context,
  removed: Range[],
  { sentry, bodies }: ForwardServices,
): Promise<OutgoingBody | undefined> {
  const { body, envelope, project } = ctx
  if (body.encoding === 'identity') return buildBody(body, envelope.bytes, removed)
  const isPlainAllowed = envelope.bytes <= maxPlainBytes(body.wireBytes)
  const isRefused = isPlainAllowed && sentry.encodings.isRefused(project.origin, body.encoding)
  if (removed.length === 0 && !isRefused) return buildBody(body, envelope.bytes, [])
  try {
    return await change(ctx, removed, bodies)
  } catch (error) {
    const isBusy = error instanceof Rejection && error.code === 'tunnel-busy'
    if (isBusy && isPlainAllowed) return undefined
    throw error
  }
}

async function change(ctx: Context, removed: Range[], bodies: Bodies): Promise<OutgoingBody> {
  const changed = await changeCompressed(bodies, ctx.body, ctx.envelope.bytes, removed)
  ctx.derivedBodies.push(changed)
  return buildBody(changed, changed.wireBytes, [])
}

/**
 * Answers 200 once the envelope is on disk, synced. Of a pending attempt nothing is sent after that, unless it has begun, or it is a probe
 * whose connection is being made: then it settles the entry when it ends. The spool is faster than a new connection: a breaker would never
 * close if that ended its probes.
 */
async function spool(
  ctx: Context,
  services: ForwardServices,
  removed: Range[],
  headers: string[],
  attempt: DeliveryAttempt | undefined,
): Promise<Outcome> {
  const { sentry, reports } = services
  const { project, envelope } = ctx
  const pending = attempt?.final
  if (pending) ctx.pendingAttempts.push(pending)
  const isProbe = attempt?.isConnecting !== undefined // it may wait for its connection as long as for its response
  const maxSends = 2 // a body whose encoding is refused is sent once more
  const attemptMs = sentry.upstreams.attemptMs(envelope.bytes) * (isProbe ? 1 + maxSends : maxSends)
  const leaseMs = pending ? attemptMs + LEASE_MS : 0
  const result = await putIntoSpool(ctx, services, removed, headers, leaseMs).catch((error: Error) => error)
  if (result instanceof Error || result.kind === 'full') {
    const final = await pending
    if (final?.kind === 'answered') return answered(ctx, final.reply)
    if (!ctx.isKeptBySender()) {
      reports.note(project, 'discarded_events', 'queue_overflow', ctx.remaining().items)
      ctx.isLossReported = true
    }
    throw notSpooled(result)
  }
  if (result.kind === 'known' || !attempt?.isConnecting?.()) attempt?.drop()
  if (result.kind === 'known') return spooled(ctx, 'known')
  for (const victim of result.evicted) sentry.deliverer.evicted(victim)
  if (pending) sentry.deliverer.follow(result.lease, project, pending)
  return spooled(ctx, result.kind)
}

async function putIntoSpool(
  ctx: Context,
  { sentry, bodies }: ForwardServices,
  removed: Range[],
  headers: string[],
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
  ctx: Context,
  services: ForwardServices,
  removed: Range[],
  headers: string[],
  outcome: Outcome,
): Outcome | Promise<Outcome> {
  const { sentry, keeping, onKeepFault } = services
  if (keeping === 'all') return keepFirst(ctx, services, removed, headers, outcome)
  const isDeclined = outcome.outcome === 'declined'
  if (!isDeclined && (outcome.outcome !== 'delivered' || keeping === undefined)) return outcome
  const described = describeEntry(ctx, headers)
  if (!isDeclined && !isKept(described, keeping)) return outcome
  if (sentry.keepingLater >= MAX_KEPT_LATER) return outcome
  ctx.afterOutcome = async () => {
    sentry.keepingLater++
    await keep(ctx, services, removed, described, endingOf(outcome)).catch(onKeepFault)
    sentry.keepingLater--
  }
  return outcome
}

async function keepFirst(
  ctx: Context,
  services: ForwardServices,
  removed: Range[],
  headers: string[],
  outcome: Outcome,
): Promise<Outcome> {
  if (outcome.outcome !== 'delivered') return outcome
  await keep(ctx, services, removed, describeEntry(ctx, headers), endingOf(outcome)).catch((error: Error) => {
    throw notSpooled(error)
  })
  return { ...outcome, ...accepted(ctx, outcome) }
}

async function keep(
  ctx: Context,
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
function answered(ctx: Context, response: UpstreamResponse): Outcome {
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
