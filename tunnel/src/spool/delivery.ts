/** Takes envelopes from the spool to Sentry, patiently. */

import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buildBody, compressSpooled, type OutgoingBody } from '../body/outgoing.ts'
import type { Bodies, Body, Pieces } from '../body/receive.ts'
import type { AttemptResult, FinalOutcome, SpoolAttempts } from '../contract.ts'
import { moveSentAt } from '../envelope/sent-at.ts'
import type { UpstreamLimits } from '../policy/upstream-limits.ts'
import type { Project, Projects } from '../projects.ts'
import { Rejection } from '../rejections.ts'
import type { Upstreams } from '../upstream/client.ts'
import { type DeliveryResult, UNREADABLE } from '../upstream/request.ts'
import type { OnFinalOutcome } from './final-outcomes.ts'
import { createRateController, type RateController } from './rate-controller.ts'
import type { Lease, ProjectDemand, Spool, SpoolEntry, StoredBody } from './spool.ts'

export type DeliveryDeps = {
  spool: Spool
  projects: Projects
  upstreams: Upstreams
  limits: UpstreamLimits
  bodies: Bodies
  /** Milliseconds that an envelope may wait. */
  maxAgeMs: number
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  random: () => number
}

export type DeliveryListener = {
  onFinalOutcome: OnFinalOutcome
  /** Told of what should not happen: a disk that fails, a bug. */
  onError: (error: unknown) => void
}

export type Deliverer = {
  /** Settles an envelope, put with a lease, by the attempt on it that is still under way. */
  follow(lease: Lease, project: Project, attempt: Promise<DeliveryResult>): void
  /** What made room for another has come to its end. */
  evicted(entry: SpoolEntry): void
  /** Tries so far, by project and what became of them. */
  attempts(): SpoolAttempts[]
  /** Begins to drain, and to tell of ends. */
  start(listener: DeliveryListener): void
  /** Takes nothing more, and resolves when what is under way has come to something. */
  stop(): Promise<void>
}

export const LEASE_MS = 30_000 // longer than most attempts; a large one asks for more
const LEASE_SPARE_MS = 10_000
const COMPRESSION_LEASE_MS = 120_000 // for all that wait for their turn
const TICK_MS = 100
const IDLE_TICK_MS = 1000
const IDLE_AFTER_MS = 15_000 // longer than a try is put off while Sentry is away
const EXPIRY_MS = 10_000
const MAX_CONCURRENT_ATTEMPTS = 64 // for all upstreams: live traffic comes first
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 10_000 // the breaker and the pace spare an upstream that is away; this spares it one bad envelope
const MAX_FAULT_DELAY_MS = 60_000
const MAX_SERVER_ERRORS = 8 // of Sentry itself, on this one envelope

export function createDeliverer(parts: DeliveryDeps): Deliverer {
  const { spool, projects, upstreams, limits, now, clock } = parts
  let listener: DeliveryListener = { onFinalOutcome: () => {}, onError: () => {} }
  const byOrigin = Map.groupBy(projects.all, ({ origin }) => origin)
  const rateControllers = new Map<string, RateController>()
  for (const origin of byOrigin.keys()) rateControllers.set(origin, createRateController(clock))
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()
  let draining: Promise<void> | undefined
  let compressing: Promise<void> = Promise.resolve()
  let expiryDue = 0
  const tallies = new Map<string, SpoolAttempts>()
  return {
    follow,
    evicted: (entry) => listener.onFinalOutcome(entry, 'expired', undefined),
    attempts: () => [...tallies.values()],
    start,
    stop,
  }

  function start(told: DeliveryListener): void {
    listener = told
    draining ??= drain()
  }

  function follow(lease: Lease, project: Project, attempt: Promise<DeliveryResult>): void {
    begin(attempt.then((delivery) => settle(lease, project, delivery)))
  }

  async function stop(): Promise<void> {
    stopping.abort()
    await draining
    await Promise.all(underWay)
  }

  async function drain(): Promise<void> {
    let idleAfter = clock() + IDLE_AFTER_MS
    while (!stopping.signal.aborted) {
      const begun = await round().catch(failed)
      if (begun > 0) idleAfter = clock() + IDLE_AFTER_MS
      else await pause(clock() < idleAfter ? TICK_MS : IDLE_TICK_MS, stopping.signal)
      while (underWay.size > MAX_CONCURRENT_ATTEMPTS / 2) await Promise.race(underWay)
    }
  }

  /** A disk that fails now may not fail later. */
  function failed(error: unknown): number {
    listener.onError(error)
    return 0
  }

  /** How many attempts it began. */
  async function round(): Promise<number> {
    if (clock() >= expiryDue) await expire()
    let begun = 0
    for (const [origin, its] of byOrigin) begun += await takeFor(origin, its)
    return begun
  }

  async function takeFor(origin: string, its: readonly Project[]): Promise<number> {
    const rateController = rateControllers.get(origin)
    const open = upstreams.isOpen(origin)
    const many = open
      ? Number(upstreams.mayProbe(origin))
      : Math.min(rateController?.allowance() ?? 0, MAX_CONCURRENT_ATTEMPTS - underWay.size)
    if (many < 1) return 0
    const leases = await spool.take(many, LEASE_MS, its.map(wantedOf))
    if (open && leases.length > 0) upstreams.spendProbe(origin)
    for (const lease of leases) begin(deliver(lease))
    rateController?.spend(leases.length)
    return leases.length
  }

  function wantedOf(project: Project): ProjectDemand {
    return { project: project.key, rateLimitedCategories: limits.limitedCategories(project) }
  }

  function begin(work: Promise<void>): void {
    const settled = work.catch(listener.onError).finally(() => underWay.delete(settled))
    underWay.add(settled)
  }

  async function deliver(lease: Lease): Promise<void> {
    const project = projects.byKey(lease.project)
    if (!project) return spool.postpone(lease, now() + MAX_DELAY_MS)
    const outgoing = await pack(lease)
    if (!outgoing) return
    if (lease.wireBytes === undefined) return send(lease, project, outgoing)
    const held = await spool.extend(lease, COMPRESSION_LEASE_MS)
    const compressed = await compress(outgoing, lease.wireBytes).catch((error) => {
      if (error instanceof Rejection) return undefined // no memory for it now
      throw error
    })
    if (!compressed) return spool.postpone(held, now() + FIRST_DELAY_MS)
    try {
      await send(held, project, buildBody(compressed, compressed.wireBytes, []))
    } finally {
      await compressed.release()
    }
  }

  /** One at a time: live traffic has the rest of the memory. */
  function compress(outgoing: OutgoingBody, wireBytes: number): Promise<Body> {
    const compressed = compressing.then(() => compressSpooled(parts.bodies, outgoing, wireBytes))
    compressing = compressed.then(
      () => undefined,
      () => undefined,
    )
    return compressed
  }

  async function send(lease: Lease, project: Project, outgoing: OutgoingBody): Promise<void> {
    const needed = upstreams.attemptMs(outgoing.bytes) + LEASE_SPARE_MS
    const held = needed > LEASE_MS ? await spool.extend(lease, needed) : lease
    const { final } = upstreams.probe(project, outgoing, lease.headers)
    const delivery = await final
    tally(project, resultOf(delivery))
    await settle(held, project, delivery)
  }

  /** `undefined` when a purge has ended it before it could be read, and told that. */
  async function pack(lease: Lease): Promise<OutgoingBody | undefined> {
    try {
      return await buildStoredBody(await spool.read(lease), lease.bytes, now() - lease.received)
    } catch (error) {
      if (await mayWait(lease)) throw error
      return undefined
    }
  }

  /** `true` where nobody can say. */
  async function mayWait(lease: Lease): Promise<boolean> {
    const found = await spool.find(lease).catch(() => lease)
    return found !== undefined
  }

  function tally({ name }: Project, result: AttemptResult): void {
    const key = `${name} ${result}`
    const attempts = (tallies.get(key)?.attempts ?? 0) + 1
    tallies.set(key, { project: name, result, attempts })
  }

  /** What came of an attempt: an end, or another try later. */
  async function settle(lease: Lease, project: Project, delivery: DeliveryResult): Promise<void> {
    const rateController = rateControllers.get(project.origin)
    if (delivery.kind === 'undecided') {
      if (delivery.reason !== UNREADABLE) rateController?.decrease()
      if (delivery.status === 500 && lease.attempts >= MAX_SERVER_ERRORS) return end(lease, 'declined', 500)
      return spool.postpone(
        lease,
        now() +
          delayOf(lease, delivery.status === 500 ? MAX_FAULT_DELAY_MS : MAX_DELAY_MS, delivery.retryAfterMs),
      )
    }
    const { status } = delivery.reply
    if (status !== 429) {
      rateController?.increase()
      return end(lease, status < 300 ? 'delivered' : 'declined', status)
    }
    rateController?.decrease()
    return spool.postpone(
      lease,
      Math.max(limits.until(project, lease.category), now() + delayOf(lease, MAX_DELAY_MS)),
    )
  }

  async function end(lease: Lease, how: FinalOutcome, status: number | undefined): Promise<void> {
    if (await finish(lease)) listener.onFinalOutcome(lease, how, status)
  }

  /** Whether the end is ours to tell. What is gone although this failed, it has removed: only the answer was lost. */
  async function finish(lease: Lease): Promise<boolean> {
    try {
      return await spool.finish(lease)
    } catch (error) {
      if (await mayWait(lease)) throw error
      return true
    }
  }

  /** With jitter, so that replicas do not come back in step. */
  function delayOf({ attempts }: Lease, most: number, askedMs = 0): number {
    const delay = Math.min(most, FIRST_DELAY_MS * 2 ** Math.min(attempts, 10))
    return Math.ceil(Math.max(askedMs, delay * (0.5 + parts.random() / 2)))
  }

  async function expire(): Promise<void> {
    expiryDue = clock() + EXPIRY_MS
    for (const entry of await spool.expire(now() - parts.maxAgeMs))
      listener.onFinalOutcome(entry, 'expired', undefined)
  }
}

function resultOf(delivery: DeliveryResult): AttemptResult {
  if (delivery.kind === 'undecided') return 'undecided'
  const { status } = delivery.reply
  return status < 300 ? 'delivered' : status === 429 ? 'rate_limited' : 'declined'
}

/** Its `sent_at` moved by the time it waited. */
async function buildStoredBody(kept: StoredBody, bytes: number, waitedMs: number): Promise<OutgoingBody> {
  if (Buffer.isBuffer(kept)) {
    const moved = moveSentAt(kept, waitedMs)
    return { content: () => moved, bytes: bytesIn(moved), encoding: 'identity' }
  }
  const head = await firstChunk(kept.open())
  const moved = moveSentAt(head, waitedMs)
  const grown = bytesIn(moved) - head.length
  return {
    content: () => Readable.from(replaceHead(kept.open, head.length, moved), { objectMode: false }),
    bytes: bytes + grown,
    encoding: 'identity',
  }
}

function bytesIn(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** 64 KiB, which hold the header line of any envelope that was let in. */
async function firstChunk(stream: Readable): Promise<Buffer> {
  await once(stream, 'readable')
  const chunk: Buffer = stream.read() ?? Buffer.alloc(0)
  stream.destroy()
  return chunk
}

async function* replaceHead(
  open: () => Readable,
  headBytes: number,
  pieces: readonly Buffer[],
): AsyncGenerator<Buffer> {
  yield* pieces
  let skip = headBytes
  for await (const chunk of open()) {
    if (chunk.length > skip) yield chunk.subarray(skip)
    skip = Math.max(0, skip - chunk.length)
  }
}

/** Ends early at the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
