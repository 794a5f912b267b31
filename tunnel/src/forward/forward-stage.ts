/** Stage that sends an envelope to Sentry, or spools it. */

import { isAscii } from 'node:buffer'
import { networkOf } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import type { Bodies } from '../envelope/body/bodies.ts'
import type { Encoding } from '../envelope/body/decode.ts'
import type { MemoryBudget } from '../envelope/body/memory-budget.ts'
import { buildBody, changeCompressed, maxPlainBytes, type OutgoingBody } from '../envelope/body/outgoing.ts'
import type { Range } from '../envelope/body/ranges.ts'
import type { ClientReports } from '../pipeline/client-reports.ts'
import { type Context, type Outcome, type Parts, spooled, toMicroseconds } from '../pipeline/pipeline.ts'
import type { PutResult } from '../pipeline/spool.ts'
import { LEASE_MS } from './delivery/delivery.ts'
import type { Forwarding } from './forwarding.ts'
import { type Departure, Keeper, type KeepServices, notSpooled } from './keeping.ts'
import { rateLimitsFor } from './limits/rate-limits.ts'
import { consequencesOf, decisionOf } from './retry-policy.ts'
import { buildSpoolBody, createSpoolEntry, describeEntry } from './spool-entry.ts'
import { compressBody, isCompressible, mayRefuseEncoding } from './upstream/encodings.ts'
import {
  type DeliveryAttempt,
  type DeliveryResult,
  NOT_SENT,
  type UpstreamResponse,
} from './upstream/request.ts'
import { senderHeaders } from './upstream/upstream-client.ts'
import { receiptErrorOf } from './upstream/upstream-errors.ts'

export type ForwardServices = KeepServices & {
  forwarding: Forwarding
  reports: ClientReports
  memory: MemoryBudget
  /** Encoding of bodies that have arrived uncompressed. */
  upstreamEncoding: 'off' | 'gzip'
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
}

/** Fields of the context that forwarding reads, and those that it writes. */
type Forwarded = Parts<'incoming' | 'startedAt' | 'client' | 'project' | 'envelope' | 'body' | 'scrubPage'> &
  Parts<'remaining' | 'outgoingRanges' | 'isKeptBySender'> &
  Pick<Context, 'receipt' | 'isLossReported' | 'addDerivedBody' | 'releaseAfter'>

type UndecidedResult = Extract<DeliveryResult, { kind: 'undecided' }>

type ForwardStage = (ctx: Forwarded) => Promise<Outcome>

/** Sends the envelope to Sentry. Spools it when Sentry has not accepted or declined it in time. */
export function forwardStage(services: ForwardServices): ForwardStage {
  const keeper = new Keeper(services)
  return (ctx) => forward(ctx, services, keeper)
}

async function forward(ctx: Forwarded, services: ForwardServices, keeper: Keeper): Promise<Outcome> {
  const { clock, now } = services
  const { receipt, client } = ctx
  const sentAt = clock()
  receipt.admitted_after_ms = toMicroseconds(sentAt - ctx.startedAt)
  const headers = senderHeaders(ctx.incoming.headers, client.address, ctx.scrubPage)
  const departure = { removed: ctx.outgoingRanges(), headers }
  const sent = await send(ctx, services, departure)
  if (!sent) return spool(ctx, services, departure, undefined) // the spool sends it later, within the share of its sender
  receipt.upstream_duration_ms = toMicroseconds(clock() - sentAt)
  const { attempt, result } = sent
  if (result !== 'late' && result.kind === 'answered')
    return keeper.keepAnswered(ctx, departure, answered(ctx, result.reply, now()))
  noteUndecided(receipt, result)
  const isFollowed = result === 'late' || consequencesOf(result).first === 'lease'
  return spool(ctx, services, departure, isFollowed ? attempt : undefined)
}

type Sent = { attempt: DeliveryAttempt; result: DeliveryResult | 'late' }

/**
 * Sends the envelope, and once more uncompressed if the upstream refuses its encoding. Returns `undefined` when a body that the upstream
 * accepts is too much for this request.
 */
async function send(
  ctx: Forwarded,
  services: ForwardServices,
  departure: Departure,
): Promise<Sent | undefined> {
  const { upstreamEncoding, forwarding } = services
  const { upstreams, refusedEncodings } = forwarding
  const { project, client } = ctx
  const built = outgoingBody(ctx, departure, services)
  const outgoing = built instanceof Promise ? await built : built
  if (!outgoing) return undefined
  const encoded =
    upstreamEncoding === 'off' ? outgoing : await compress(ctx, outgoing, upstreamEncoding, services)
  const { encoding } = encoded
  const sender = { network: networkOf(client.address) }
  const first = upstreams.post(project, encoded, departure.headers, sender)
  const firstResult = await first.soon
  if (firstResult === 'late' || !mayRefuseEncoding(firstResult, encoding))
    return {
      attempt: encoding === 'identity' ? first : withoutRefusals(first, encoding),
      result: firstResult,
    }
  const plain = outgoing.encoding === 'identity' ? outgoing : await plainBody(ctx, departure, services)
  if (!plain) return undefined
  const attempt = upstreams.send(project, plain, departure.headers, sender)
  const result = await attempt.soon
  if (isAccepted(result)) refusedEncodings.add(project.origin, encoding)
  return { attempt, result }
}

function noteUndecided(receipt: Forwarded['receipt'], result: UndecidedResult | 'late'): void {
  if (result === 'late') {
    receipt.upstream_error = 'late'
    return
  }
  if (result.status !== undefined) receipt.upstream_status = result.status
  if (result.message !== undefined) receipt.upstream_message = result.message
  const error = receiptErrorOf(result)
  if (error) receipt.upstream_error = error
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
  upstreamEncoding: 'gzip',
  { forwarding, memory }: ForwardServices,
): Promise<OutgoingBody> {
  const { content, bytes, encoding } = outgoing
  const { origin } = ctx.project
  if (encoding !== 'identity' || 'handle' in ctx.body.wire) return outgoing
  if (forwarding.upstreams.isOpen(origin) || forwarding.refusedEncodings.has(origin, upstreamEncoding))
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
function outgoingBody(
  ctx: Forwarded,
  departure: Departure,
  services: ForwardServices,
): OutgoingBody | Promise<OutgoingBody | undefined> {
  const { body, envelope, project } = ctx
  const { removed } = departure
  if (body.encoding === 'identity') return buildBody(body, envelope.bytes, removed)
  const isRefused = services.forwarding.refusedEncodings.has(project.origin, body.encoding)
  if (removed.length === 0 && !(isRefused && isPlainAllowed(ctx))) return buildBody(body, envelope.bytes, [])
  return change(ctx, removed, services.bodies).catch((error) => {
    const isBusy = error instanceof Rejection && error.code === 'tunnel-busy'
    if (isBusy && isPlainAllowed(ctx)) return undefined
    throw error
  })
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
  const { forwarding, reports } = services
  const { project, envelope } = ctx
  const pending = attempt?.final
  if (pending) ctx.releaseAfter(pending)
  const leaseMs = pending ? forwarding.upstreams.attemptMs(envelope.bytes) + LEASE_MS : 0
  const result = await putIntoSpool(ctx, services, departure, leaseMs).catch((error: Error) => error)
  if (result instanceof Error || result.kind === 'full') {
    const final = await pending
    if (final?.kind === 'answered') return answered(ctx, final.reply, services.now())
    if (!ctx.isKeptBySender()) {
      reports.note(project, 'discarded_events', 'queue_overflow', ctx.remaining().items)
      ctx.isLossReported = true
    }
    throw notSpooled(result)
  }
  attempt?.drop()
  if (result.kind === 'known') return spooled(ctx, 'known')
  for (const victim of result.evicted) forwarding.deliverer.evicted(victim)
  if (pending) forwarding.deliverer.follow(result.lease, project, pending)
  return spooled(ctx, result.kind)
}

async function putIntoSpool(
  ctx: Forwarded,
  { forwarding, bodies }: ForwardServices,
  { removed, headers }: Departure,
  leaseMs: number,
): Promise<PutResult> {
  const outgoing = await buildSpoolBody(ctx, bodies, removed)
  const { entry, body } = await createSpoolEntry(describeEntry(ctx, headers), outgoing)
  return forwarding.spool.put(entry, body, leaseMs)
}

/** Passes Sentry's response on, with three of its headers. */
function answered(ctx: Forwarded, response: UpstreamResponse, now: number): Outcome {
  const { status, body, contentType, retryAfter } = response
  const rateLimits = rateLimitsFor(response, now)
  ctx.receipt.upstream_status = status
  delete ctx.receipt.upstream_error // the response came late, and the spool did not take the envelope
  const headers: Record<string, string> = {}
  if (contentType) headers['content-type'] = contentType
  if (retryAfter) headers['retry-after'] = retryAfter
  if (rateLimits) headers['x-sentry-rate-limits'] = rateLimits
  return {
    outcome: decisionOf(response),
    status,
    body: isAscii(body) ? body.toString('latin1') : body, // Node writes a string in one piece with the head
    headers,
  }
}
