/** Delivers spool entries to Sentry, with retries, backoff and a rate for each upstream. */

import type { OutgoingBody } from '../body/outgoing.ts'
import type { AttemptResult, SpoolAttempts } from '../contract/spool.ts'
import type { FinalOutcome } from '../contract.ts'
import type { UpstreamLimits } from '../policy/upstream-limits.ts'
import type { Project, Projects } from '../projects.ts'
import { type DeliveryResult, NOT_SENT } from '../upstream/request.ts'
import type { OnFinalOutcome } from './final-outcomes.ts'
import { ServerErrors } from './server-errors.ts'
import type { Lease, ProjectDemand, Spool, SpoolEntry } from './spool.ts'
import { buildStoredBody } from './stored-body.ts'
import { type DeliveryUpstreams, UpstreamCapacity } from './upstream-capacity.ts'
import { WallClock } from './wall-clock.ts'

type DeliveryDeps = {
  spool: Spool
  projects: Projects
  upstreams: DeliveryUpstreams
  limits: UpstreamLimits
  /** Age in milliseconds at which an entry expires. */
  maxAgeMs: number
  /** Attempts a second for one upstream at most. */
  maxRate?: number | undefined
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  /** Number from 0 up to 1, for jitter. */
  random: () => number
  /** Receives errors of the spool that stop the delivery of all entries. */
  onSpoolFault: (error: unknown) => void
  /** Receives messages for the operator. */
  onNotice: (notice: string) => void
}

type DeliveryListener = {
  onFinalOutcome: OnFinalOutcome
  /** Receives unexpected errors: a failing disk, a bug. */
  onError: (error: unknown) => void
  /** Called when the spool has taken in the result of an attempt. */
  onSettled: () => void
}

/** Projects of one upstream. */
type Origin = { projects: readonly Project[]; capacity: UpstreamCapacity }

export const LEASE_MS = 30_000 // longer than most attempts; large bodies extend it
const LEASE_SPARE_MS = 10_000
const TICK_MS = 100
const IDLE_TICK_MS = 1000
const IDLE_AFTER_MS = 15_000 // longer than MAX_DELAY_MS
const EXPIRY_MS = 10_000
/** Nothing expires so soon after a start: a wrong clock is set meanwhile, and what is pending is tried. */
const FIRST_EXPIRY_MS = 10 * 60_000
const MAX_CONCURRENT_ATTEMPTS = 64 // for all upstreams: live traffic comes first
const MAX_LIMITED_MS = 60_000 // after that, no entry of the category is taken before the end of the limit
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 10_000 // breaker and rate controller protect a failing upstream; this is for one failing envelope
const MAX_FAULT_DELAY_MS = 60_000

export class Deliverer {
  readonly #deps: DeliveryDeps
  readonly #origins: ReadonlyMap<string, Origin>
  readonly #pending = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #attempts = new Map<string, SpoolAttempts>()
  readonly #serverErrors = new ServerErrors()
  #listener: DeliveryListener = {
    onFinalOutcome: () => {},
    onError: () => {},
    onSettled: () => {},
  }
  #draining: Promise<void> | undefined
  readonly #wallClock: WallClock
  readonly #startedAt: number
  #expiryDue = 0

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
    this.#wallClock = new WallClock(deps)
    this.#startedAt = deps.clock()
    const byOrigin = Map.groupBy(deps.projects.all, ({ origin }) => origin)
    this.#origins = new Map(
      Array.from(byOrigin, ([origin, projects]) => [
        origin,
        { projects, capacity: new UpstreamCapacity(origin, deps.upstreams, deps.clock, deps.maxRate) },
      ]),
    )
  }

  /** Starts delivering, and reporting final outcomes to `listener`. */
  start(listener: DeliveryListener): void {
    this.#listener = listener
    this.#draining ??= this.#drain()
  }

  /** Settles an entry, put with a lease, by the pending attempt to deliver it. */
  follow(lease: Lease, project: Project, attempt: Promise<DeliveryResult>): void {
    this.#begin(attempt.then((delivery) => this.#settle(lease, project, delivery)))
  }

  /** Reports the final outcome of an entry that made room for another one. */
  evicted(entry: SpoolEntry): void {
    this.#listener.onFinalOutcome(entry, 'expired', undefined)
  }

  /** Returns the number of delivery attempts by project and result. */
  attempts(): SpoolAttempts[] {
    return [...this.#attempts.values()]
  }

  /** Takes no more entries. Resolves when pending attempts are settled. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#draining
    await Promise.all(this.#pending)
  }

  async #drain(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#stopping
    let idleAfter = clock() + IDLE_AFTER_MS
    while (!signal.aborted) {
      const begun = await this.#takeForAll().catch((error) => {
        this.#noteFault(error) // the next round may succeed
        return 0
      })
      if (begun > 0) idleAfter = clock() + IDLE_AFTER_MS
      else await pause(clock() < idleAfter ? TICK_MS : IDLE_TICK_MS, signal)
      await this.#settleSome()
    }
  }

  /** Lets half of the attempts end, to take many entries at once. Waits for a tick at most, for an upstream may be slow. */
  async #settleSome(): Promise<void> {
    const isBusy = () => this.#pending.size > MAX_CONCURRENT_ATTEMPTS / 2
    if (!isBusy()) return
    let isOver = false
    const tick = pause(TICK_MS, this.#stopping.signal).then(() => {
      isOver = true
    })
    while (isBusy() && !isOver) await Promise.race([tick, ...this.#pending])
  }

  /** Returns the number of attempts begun. */
  async #takeForAll(): Promise<number> {
    if (this.#deps.clock() >= this.#expiryDue) await this.#expire().catch((error) => this.#noteFault(error))
    let begun = 0
    for (const origin of this.#origins.values()) begun += await this.#takeFor(origin)
    return begun
  }

  #noteFault(error: unknown): void {
    this.#deps.onSpoolFault(error)
    this.#listener.onError(error)
  }

  async #takeFor({ projects, capacity }: Origin): Promise<number> {
    const limit = Math.min(capacity.allowance(), MAX_CONCURRENT_ATTEMPTS - this.#pending.size)
    if (limit < 1) return 0
    const demands = projects.map((project) => this.#demandOf(project))
    const leases = await this.#deps.spool.take(limit, LEASE_MS, demands)
    capacity.begin(leases.length)
    for (const lease of leases) this.#begin(this.#deliver(lease).finally(() => capacity.end()))
    return leases.length
  }

  #demandOf(project: Project): ProjectDemand {
    return { project: project.key, rateLimitedCategories: this.#deps.limits.limitedCategories(project) }
  }

  #begin(work: Promise<void>): void {
    const settled = work.catch(this.#listener.onError).finally(() => this.#pending.delete(settled))
    this.#pending.add(settled)
  }

  async #deliver(lease: Lease): Promise<void> {
    const { spool, projects, limits, now } = this.#deps
    const project = projects.byKey(lease.project)
    if (!project) return spool.postpone(lease, now() + MAX_DELAY_MS)
    if (limits.isStanding(project, lease.category)) return this.#drop(lease)
    const outgoing = await this.#read(lease)
    if (!outgoing) return
    const limitedUntil = limits.until(project, lease.category) // may have been learned since the entry was taken
    if (limitedUntil > now()) return spool.postpone(lease, Math.min(limitedUntil, now() + MAX_LIMITED_MS))
    await this.#send(lease, project, outgoing)
  }

  /** Returns `undefined` when the entry was purged meanwhile; the purge has reported that. */
  async #read(lease: Lease): Promise<OutgoingBody | undefined> {
    const { spool, now } = this.#deps
    try {
      return await buildStoredBody(await spool.read(lease), lease.bytes, Math.max(0, now() - lease.received))
    } catch (error) {
      if (await this.#mayBePending(lease)) throw error
      return undefined
    }
  }

  async #send(lease: Lease, project: Project, outgoing: OutgoingBody): Promise<void> {
    const { spool, upstreams } = this.#deps
    const neededMs = upstreams.attemptMs(outgoing.bytes) + LEASE_SPARE_MS
    const extended = neededMs > LEASE_MS ? await spool.extend(lease, neededMs) : lease
    const attempt = upstreams.send(project, outgoing, lease.headers)
    if ((await attempt.soon) === 'late') attempt.drop() // its lease ends
    const delivery = await attempt.final
    const isSent = delivery.kind === 'answered' || delivery.reason !== NOT_SENT
    if (isSent) this.#countAttempt(project, resultOf(delivery))
    await this.#settle(extended, project, delivery)
    this.#listener.onSettled()
  }

  #countAttempt({ name }: Project, result: AttemptResult): void {
    const key = `${name} ${result}`
    const attempts = (this.#attempts.get(key)?.attempts ?? 0) + 1
    this.#attempts.set(key, { project: name, result, attempts })
  }

  /** Finishes or postpones an entry by the result of an attempt. */
  async #settle(lease: Lease, project: Project, delivery: DeliveryResult): Promise<void> {
    const { spool, limits, upstreams, now } = this.#deps
    this.#origins.get(project.origin)?.capacity.learn(delivery)
    if (delivery.kind === 'undecided') {
      const { status, retryAfterMs } = delivery
      // A response 500 while the breaker is open says nothing about this entry: Sentry fails for all of them.
      if (status === 500 && !upstreams.isOpen(project.origin) && this.#serverErrors.isExceeded(lease.key))
        return this.#finish(lease, 'declined', 500)
      const maxMs = status === 500 ? MAX_FAULT_DELAY_MS : MAX_DELAY_MS
      return spool.postpone(lease, now() + Math.max(retryAfterMs ?? 0, this.#backoffMs(lease, maxMs)))
    }
    const { status } = delivery.reply
    if (status !== 429) return this.#finish(lease, status < 300 ? 'delivered' : 'declined', status)
    const retryAt = now() + this.#backoffMs(lease, MAX_DELAY_MS)
    return spool.postpone(lease, Math.max(limits.until(project, lease.category), retryAt))
  }

  /** Removes an entry that was spooled before it was known that the server does not store its category. */
  async #drop(lease: Lease): Promise<void> {
    this.#serverErrors.forget(lease.key)
    if (await this.#remove(lease)) this.#listener.onFinalOutcome(lease, 'declined', undefined, 'not-stored')
  }

  async #finish(lease: Lease, finalOutcome: FinalOutcome, status: number): Promise<void> {
    this.#serverErrors.forget(lease.key)
    if (await this.#remove(lease)) this.#listener.onFinalOutcome(lease, finalOutcome, status)
  }

  /** Returns `true` when this replica reports the final outcome, also when only the spool's response was lost. */
  async #remove(lease: Lease): Promise<boolean> {
    try {
      return await this.#deps.spool.finish(lease)
    } catch (error) {
      if (await this.#mayBePending(lease)) throw error
      return true
    }
  }

  /** Returns `true` also when the spool fails. */
  async #mayBePending(lease: Lease): Promise<boolean> {
    const found = await this.#deps.spool.find(lease).catch(() => lease)
    return found !== undefined
  }

  /** Doubles the delay with each attempt. Jitter keeps replicas out of step. */
  #backoffMs({ attempts }: Lease, maxMs: number): number {
    const delayMs = Math.min(maxMs, FIRST_DELAY_MS * 2 ** Math.min(attempts, 10))
    return Math.ceil(delayMs * (0.5 + this.#deps.random() / 2))
  }

  async #expire(): Promise<void> {
    const { spool, clock, now, maxAgeMs } = this.#deps
    this.#expiryDue = clock() + EXPIRY_MS
    const aheadMs = this.#wallClock.aheadMs()
    if (clock() < this.#startedAt + FIRST_EXPIRY_MS) return
    for (const entry of await spool.expire(now() - aheadMs - maxAgeMs))
      this.#listener.onFinalOutcome(entry, 'expired', undefined)
  }
}

function resultOf(delivery: DeliveryResult): AttemptResult {
  if (delivery.kind === 'undecided') return 'undecided'
  const { status } = delivery.reply
  return status < 300 ? 'delivered' : status === 429 ? 'rate_limited' : 'declined'
}

/** Resolves after `ms`, or at the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
