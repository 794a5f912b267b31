/** Forwards envelopes to Sentry: at once, or later from the spool. */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type MemoryBudget, OutOfMemoryBudget } from './body/memory-budget.ts'
import {
  buildBody,
  buildUncompressedBody,
  type OutgoingBody,
  recompressWithoutRanges,
  unpackForSpool,
} from './body/outgoing.ts'
import { mergeRanges, type Range } from './body/ranges.ts'
import type { Bodies } from './body/receive.ts'
import type { Config, SpoolSettings } from './config/config.ts'
import { accepted, type Context, type Outcome, type Stage, toMicroseconds } from './pipeline.ts'
import type { ClientReports } from './policy/client-reports.ts'
import type { UpstreamLimits } from './policy/upstream-limits.ts'
import type { Projects } from './projects.ts'
import { Rejection } from './rejections.ts'
import { openDeferred } from './spool/deferred.ts'
import { createDeliverer, type Deliverer, LEASE_MS } from './spool/delivery.ts'
import { createSpoolEntry } from './spool/entry.ts'
import { defaultBound } from './spool/free-space.ts'
import { NatsAway } from './spool/jetstream/unavailable.ts'
import { MonitoredSpool } from './spool/monitored.ts'
import type { PutResult, Spool, SpoolBounds } from './spool/spool.ts'
import { openSqliteSpool } from './spool/sqlite/client.ts'
import { createUpstreams, senderHeaders, type Upstreams } from './upstream/client.ts'
import { outcomeOf } from './upstream/reply.ts'
import type { DeliveryResult, UpstreamResponse } from './upstream/request.ts'

export type Forwarding = {
  upstreams: Upstreams
  spool: MonitoredSpool
  /** The part of the spool's bytes that one project may fill. */
  projectShare: number
  deliverer: Deliverer
}

export type ForwardingDeps = {
  config: Config
  projects: Projects
  limits: UpstreamLimits
  memory: MemoryBudget
  bodies: Bodies
  /** A monotonic clock in milliseconds, and milliseconds since 1970. */
  clock: () => number
  now: () => number
  /** Told what an operator should know. */
  onNotice: (notice: string) => void
}

const MIB = 1024 * 1024
const ADDRESS_SHARE = 0.05
const PROJECT_SHARE = 0.5

/** Rejects in words when the spool cannot be opened; a NATS server that is away is waited for, and the tunnel works without it. */
export async function openForwarding({
  config,
  projects,
  limits,
  memory,
  bodies,
  clock,
  now,
  onNotice,
}: ForwardingDeps): Promise<Forwarding> {
  const projectShare = projects.all.length > 1 ? PROJECT_SHARE : 1
  const open = () => openSpool(config.spool, { addressShare: ADDRESS_SHARE, projectShare }, now, onNotice)
  const store = await open().catch((problem) => {
    if (problem instanceof NatsAway) return openDeferred({ open, problem, onNotice })
    throw problem
  })
  const spool = new MonitoredSpool({ store, memory, clock, now })
  const upstreams = createUpstreams(projects.all, config.upstream, limits, clock)
  const deliverer = createDeliverer({
    spool: store,
    projects,
    upstreams,
    limits,
    bodies,
    maxAgeMs: config.spool.ageMs,
    now,
    clock,
    random: Math.random,
  })
  return { upstreams, spool, projectShare, deliverer }
}

/** Rejects in words when it cannot be opened. */
async function openSpool(
  { place, bytes, ageMs }: SpoolSettings,
  shares: Omit<SpoolBounds, 'bytes'>,
  now: () => number,
  onNotice: (notice: string) => void,
): Promise<Spool> {
  if ('nats' in place) {
    const { openJetStreamSpool } = await import('./spool/jetstream/store.ts') // one machine's tunnels start sooner without it
    return openJetStreamSpool(place.nats, { ...shares, bytes, ageMs }, now)
  }
  mkdirSync(dirname(place.file), { recursive: true })
  const bound = bytes ?? (await defaultBound(dirname(place.file)))
  return openSqliteSpool(place.file, { ...shares, bytes: bound }, onNotice)
}

export type ForwardServices = {
  sentry: Forwarding
  bodies: Bodies
  reports: ClientReports
  /** Monotonic, in milliseconds. */
  clock: () => number
}

/** Sends the envelope to Sentry. Spools it when Sentry has not accepted or declined it by the time a browser should wait no longer. */
export function forwardStage(services: ForwardServices): Stage {
  return (ctx) => forward(ctx, services)
}

async function forward(ctx: Context, services: ForwardServices): Promise<Outcome> {
  const { sentry, bodies, clock } = services
  const { receipt, envelope, client } = ctx
  const sentAt = clock()
  receipt.admitted_after_ms = toMicroseconds(sentAt - ctx.startedAt)
  const removed = mergeRanges([
    ...envelope.removedRanges,
    ...Array.from(ctx.removed.keys(), ({ range }) => range),
  ])
  const headers = senderHeaders(ctx.incoming.headers, client.address)
  const packed = packForNow(ctx, removed, bodies)
  const outgoing = packed instanceof Promise ? await packed : packed
  if (!outgoing) return spool(ctx, services, removed, headers, undefined)
  const attempt = sentry.upstreams.post(ctx.project, outgoing, headers)
  const result = await attempt.soon
  receipt.upstream_duration_ms = toMicroseconds(clock() - sentAt)
  if (result === 'late') return spool(ctx, services, removed, headers, attempt.final)
  if (result.kind === 'answered') return answered(ctx, result.reply)
  if (result.status !== undefined) receipt.upstream_status = result.status
  return spool(ctx, services, removed, headers, undefined)
}

/** Builds the outgoing body; `undefined` without the memory to compress it again, but for a bomb, which would fill the disk. */
function packForNow(
  ctx: Context,
  removed: Range[],
  bodies: Bodies,
): OutgoingBody | Promise<OutgoingBody | undefined> {
  const { body, envelope } = ctx
  if (removed.length > 0 && body.encoding !== 'identity') return recompress(ctx, removed, bodies)
  return buildBody(body, envelope.bytes, removed)
}

async function recompress(ctx: Context, removed: Range[], bodies: Bodies): Promise<OutgoingBody | undefined> {
  const { body, envelope } = ctx
  try {
    const smaller = await recompressWithoutRanges(bodies, body, envelope.bytes, removed)
    ctx.derivedBodies.push(smaller)
    return buildBody(smaller, envelope.bytes, [])
  } catch (error) {
    const isBusy = error instanceof Rejection && error.code === 'tunnel-busy'
    if (isBusy && envelope.bytes <= Math.max(MIB, 20 * body.wireBytes)) return undefined
    throw error
  }
}

/** Answers 202 once the envelope is on disk, synced. An attempt that is still pending settles the entry when it ends. */
async function spool(
  ctx: Context,
  services: ForwardServices,
  removed: Range[],
  headers: string[],
  pending: Promise<DeliveryResult> | undefined,
): Promise<Outcome> {
  const { sentry, reports } = services
  const { project, envelope } = ctx
  if (pending) ctx.pendingAttempts.push(pending)
  const leaseMs = pending ? sentry.upstreams.attemptMs(envelope.bytes) + LEASE_MS : 0
  const result = await putIntoSpool(ctx, services, removed, headers, leaseMs).catch((error: Error) => error)
  if (result instanceof Error || result.kind === 'full') {
    const final = await pending
    if (final?.kind === 'answered') return answered(ctx, final.reply)
    reports.note(project, 'discarded_events', 'queue_overflow', ctx.remaining().items)
    throw notSpooled(result)
  }
  if (result.kind === 'known') return accepted(ctx, { outcome: 'filtered', reason: 'duplicate', status: 202 })
  for (const victim of result.evicted) sentry.deliverer.evicted(victim)
  if (pending) sentry.deliverer.follow(result.lease, project, pending)
  return accepted(ctx, { outcome: 'spooled', status: 202 })
}

/** The spool holds bodies decoded and without the removed ranges. */
async function putIntoSpool(
  ctx: Context,
  { sentry, bodies }: ForwardServices,
  removed: Range[],
  headers: string[],
  leaseMs: number,
): Promise<PutResult> {
  const { project, envelope, body, receipt, client } = ctx
  const isCompressed = body.encoding !== 'identity'
  const plain = isCompressed ? await unpackForSpool(bodies, body, envelope.bytes, removed) : body
  if (isCompressed) ctx.derivedBodies.push(plain)
  const outgoing = isCompressed
    ? buildUncompressedBody(plain, plain.wireBytes, [])
    : buildUncompressedBody(body, envelope.bytes, removed)
  const wireBytes = isCompressed ? body.wireBytes : undefined
  const { items } = ctx.remaining()
  const entry = { project, items, outgoing, wireBytes, headers, address: client.address, receipt }
  const { entry: waiting, body: spooledBody } = await createSpoolEntry(entry)
  return sentry.spool.put(waiting, spooledBody, leaseMs)
}

/** Passes Sentry's response on. */
function answered(ctx: Context, reply: UpstreamResponse): Outcome {
  ctx.receipt.upstream_status = reply.status
  return outcomeOf(reply)
}

function notSpooled(result: Error | { reason: string }): Rejection {
  if (!(result instanceof Error)) return new Rejection('spool-full', result.reason)
  if (result instanceof Rejection) return result
  if (!(result instanceof OutOfMemoryBudget)) return new Rejection('spool-unwritable')
  return new Rejection(
    'spool-unwritable',
    'Too many bodies wait for it: raise MEMORY_BYTES, or add a tunnel.',
  )
}
