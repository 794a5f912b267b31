/** Delivers spool entries to Sentry, with retries, backoff and a rate for each upstream. */

import { formatDsn } from 'contract/dsn'
import type { AttemptResult, SpoolAttempts } from 'contract/spool'
import type { OutgoingBody } from '../../envelope/body/outgoing.ts'
import { isMirrorKey, type Project, type Projects } from '../../pipeline/projects.ts'
import {
  ANSWER_BYTES,
  type Ending,
  type Keeping,
  type Lease,
  type OnFinalOutcome,
  type ProjectDemand,
  type Spool,
  type SpoolEntry,
} from '../../pipeline/spool.ts'
import type { UpstreamLimits } from '../limits/upstream-limits.ts'
import {
  backoffMs,
  boundRetryAfter,
  type Consequences,
  consequencesOf,
  decisionOf,
  isRefusedForGood,
  MAX_DELAY_MS,
  MAX_LIMITED_MS,
  ownBackoffMs,
  STORE_DELAY_MS,
} from '../retry-policy.ts'
import { isKept } from '../spool-entry.ts'
import { type DeliveryResult, NOT_SENT } from '../upstream/request.ts'
import type { EnvelopeSender, Upstreams } from '../upstream/upstream-client.ts'
import { Expiry } from './expiry.ts'
import { FormerProjects } from './former-projects.ts'
import { Pace } from './pace.ts'
import { buildStoredBody } from './stored-body.ts'

/** Part of the upstreams that delivery from a spool uses. */
type DeliveryUpstreams = Pick<
  Upstreams,
  'send' | 'attemptMs' | 'isOpen' | 'mayDeliver' | 'spareConnections' | 'blames' | 'failuresOf'
>

type DeliveryDeps = {
  spool: Spool
  projects: Projects
  upstreams: DeliveryUpstreams
  limits: UpstreamLimits
  /** Entries that stay once they are accepted; absent: none. */
  keeping?: Keeping | undefined
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
type Origin = {
  projects: readonly Project[]
  pace: Pace
  /** Attempts under way. */
  active: number
  /** Attempts for all origins up to which more may begin for this one. */
  maxPending: number
}

export const LEASE_MS = 30_000 // longer than most attempts; large bodies extend it
const LEASE_SPARE_MS = 10_000
const TICK_MS = 100
const IDLE_TICK_MS = 1000
const IDLE_AFTER_MS = 15_000 // longer than MAX_DELAY_MS
const FORMER_MS = 60_000
const MAX_CONCURRENT_ATTEMPTS = 64 // for all upstreams: live traffic comes first
const MAX_BESIDE_MIRRORS = 32 // a slow mirror leaves the others to the projects

export class Deliverer {
  readonly #deps: DeliveryDeps
  readonly #origins: ReadonlyMap<string, Origin>
  readonly #pending = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #attempts = new Map<string, SpoolAttempts>()
  #listener: DeliveryListener = {
    onFinalOutcome: () => {},
    onError: () => {},
    onSettled: () => {},
  }
  readonly #former: FormerProjects
  #draining: Promise<void> | undefined
  readonly #expiry: Expiry
  #formerDue = 0

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
    this.#expiry = new Expiry(deps)
    this.#former = new FormerProjects(deps)
    const byOrigin = Map.groupBy(deps.projects.destinations, ({ origin }) => origin)
    this.#origins = new Map(
      Array.from(byOrigin, ([origin, projects]) => {
        const pace = new Pace(deps.clock, deps.maxRate)
        const hasOnlyMirrors = projects.every(({ key }) => isMirrorKey(key))
        const maxPending = hasOnlyMirrors ? MAX_BESIDE_MIRRORS : MAX_CONCURRENT_ATTEMPTS
        return [origin, { projects, pace, active: 0, maxPending }]
      }),
    )
  }

  /** Starts delivering, and reporting final outcomes to `listener`. */
  start(listener: DeliveryListener): void {
    this.#listener = listener
    this.#draining ??= this.#drain()
  }

  /** Settles an entry, put with a lease, by the pending attempt to deliver it. */
  follow(lease: Lease, project: Project, attempt: Promise<DeliveryResult>): void {
    this.#begin(attempt.then((delivery) => this.#settle(lease, project, delivery, 'slow')))
  }

  /** Reports the final outcome of an entry that made room for another one. */
  evicted(entry: SpoolEntry): void {
    this.#listener.onFinalOutcome(entry, 'evicted', undefined)
  }

  /** Returns the number of delivery attempts by project and result. */
  attempts(): SpoolAttempts[] {
    return [...this.#attempts.values()]
  }

  /** Returns how many deliveries a second the slowest upstream of some projects takes; 0 while a breaker is open, `undefined` without an upstream. */
  capacity(isWanted: (project: Project) => boolean): number | undefined {
    const wanted = [...this.#origins].filter(([, { projects }]) => projects.some(isWanted))
    const rates = wanted.map(([origin, { pace }]) =>
      this.#deps.upstreams.isOpen(origin) ? 0 : pace.perSecond(),
    )
    return rates.length === 0 ? undefined : Math.min(...rates)
  }

  /** Notes an entry that was resent: a DSN that is no longer configured may have had none so far. */
  noteResent(key: string): void {
    const successor = this.#deps.projects.successorOf(key)
    if (successor && !this.#former.keysOf(successor).includes(key)) this.#formerDue = 0
  }

  /** Names the entries that no configured project has, with a remedy. */
  warnings(): readonly string[] {
    return this.#former.warnings()
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
    if (this.#expiry.isDue()) this.#begin(this.#expire()) // many entries take a server seconds
    if (this.#deps.clock() >= this.#formerDue) await this.#lookForFormer()
    let begun = 0
    for (const [name, origin] of this.#origins) begun += await this.#takeFor(name, origin)
    return begun
  }

  #noteFault(error: unknown): void {
    this.#deps.onSpoolFault(error)
    this.#listener.onError(error)
  }

  async #takeFor(name: string, origin: Origin): Promise<number> {
    const { spool, upstreams } = this.#deps
    const { pace, active, maxPending } = origin
    const projects = origin.projects.filter((project) => upstreams.mayDeliver(project))
    if (projects.length === 0) {
      pace.restart()
      return 0
    }
    const spare = upstreams.spareConnections(name, active)
    const limit = Math.min(pace.allowance(active), spare, maxPending - this.#pending.size)
    if (limit < 1) return 0
    const demands = projects.flatMap((project) => this.#demandsOf(project))
    const leases = await spool.take(limit, LEASE_MS, demands)
    pace.spend(leases.length)
    origin.active += leases.length
    for (const lease of leases) this.#begin(this.#deliver(lease).finally(() => origin.active--))
    return leases.length
  }

  /** Returns the demands for a project, also by its former DSNs. */
  #demandsOf(project: Project): ProjectDemand[] {
    const rateLimitedCategories = this.#deps.limits.limitedCategories(project)
    return [project.key, ...this.#former.keysOf(project)].map((key) => ({
      project: key,
      rateLimitedCategories,
    }))
  }

  async #lookForFormer(): Promise<void> {
    this.#formerDue = this.#deps.clock() + FORMER_MS
    await this.#former.look().catch(this.#listener.onError)
  }

  #begin(work: Promise<void>): void {
    const settled = work.catch(this.#listener.onError).finally(() => this.#pending.delete(settled))
    this.#pending.add(settled)
  }

  async #deliver(lease: Lease): Promise<void> {
    const { spool, projects, limits, now } = this.#deps
    const project = projects.destinationOf(lease.project)
    if (!project) return spool.postpone(lease, now() + MAX_DELAY_MS)
    if (limits.isStanding(project, lease.category)) return this.#drop(lease)
    const outgoing = await this.#read(lease, project)
    if (!outgoing) return
    const limitedUntil = limits.until(project, lease.category) // may have been learned since the entry was taken
    if (limitedUntil > now()) return spool.postpone(lease, Math.min(limitedUntil, now() + MAX_LIMITED_MS))
    await this.#send(lease, project, outgoing)
  }

  /** Returns `undefined` when the entry was purged meanwhile; the purge has reported that. */
  async #read(lease: Lease, project: Project): Promise<OutgoingBody | undefined> {
    const { spool, now } = this.#deps
    const current = formatDsn(project.dsn)
    const dsn = lease.project === current ? undefined : current
    try {
      const ageMs = Math.max(0, now() - lease.received)
      return await buildStoredBody(await spool.read(lease), lease.bytes, ageMs, dsn)
    } catch (error) {
      if (!(await this.#mayBePending(lease))) return undefined
      await spool.postpone(lease, now() + STORE_DELAY_MS)
      throw error
    }
  }

  async #send(lease: Lease, project: Project, outgoing: OutgoingBody): Promise<void> {
    const { spool, upstreams } = this.#deps
    const neededMs = upstreams.attemptMs(outgoing.bytes) + LEASE_SPARE_MS
    const extended = neededMs > LEASE_MS ? await spool.extend(lease, neededMs) : lease
    const attempt = upstreams.send(project, outgoing, lease.headers, senderOf(lease))
    const timing = (await attempt.soon) === 'late' ? 'slow' : 'prompt'
    if (timing === 'slow') attempt.drop() // its lease ends
    const delivery = await attempt.final
    const isSent = delivery.kind === 'answered' || delivery.reason !== NOT_SENT
    if (isSent)
      this.#countAttempt(project, delivery.kind === 'answered' ? decisionOf(delivery.reply) : 'undecided')
    await this.#settle(extended, project, delivery, timing)
    this.#listener.onSettled()
  }

  #countAttempt({ name }: Project, result: AttemptResult): void {
    const key = `${name} ${result}`
    const attempts = (this.#attempts.get(key)?.attempts ?? 0) + 1
    this.#attempts.set(key, { project: name, result, attempts })
  }

  /** Finishes or postpones an entry by the result of an attempt, as the retry policy says. */
  async #settle(
    lease: Lease,
    project: Project,
    delivery: DeliveryResult,
    timing: 'prompt' | 'slow',
  ): Promise<void> {
    const { spool, upstreams, limits, now } = this.#deps
    const { pace, next, ends } = consequencesOf(delivery)
    if (pace !== 'keep' && !upstreams.blames(project, senderOf(lease))) this.#adaptPace(project, pace, timing)
    switch (next) {
      case 'never':
        return this.#end(lease, delivery, ends)
      case 'after-limit': {
        const limitedUntil = limits.until(project, lease.category)
        return spool.postpone(lease, Math.max(limitedUntil, now() + this.#backoffMs(lease, delivery)))
      }
      case 'backoff':
        return spool.postpone(lease, now() + this.#backoffMs(lease, delivery))
      case 'own-backoff': {
        const { own, refusal } = upstreams.failuresOf(lease.key, project)
        if (ends === 'declined-in-time' && isRefusedForGood(refusal))
          return this.#decline(lease, refusal.status, refusal.message)
        const delayMs = this.#backoffMs(lease, delivery)
        const ownMs = own === 0 ? 0 : ownBackoffMs(own, this.#deps.random())
        return spool.postpone(lease, now() + Math.max(delayMs, ownMs))
      }
    }
  }

  /** Ends the delivery of an entry by the decision of the server. */
  #end(lease: Lease, delivery: DeliveryResult, ends: Consequences['ends']): Promise<void> {
    if (delivery.kind === 'undecided') throw new Error('only a decision ends a delivery at once')
    const { status, body } = delivery.reply
    if (ends === 'delivered') return this.#finish(lease, status)
    return this.#decline(lease, status, undefined, body.toString('utf8', 0, ANSWER_BYTES))
  }

  /** Returns the delay that grows with each attempt, or a longer one that a failing upstream has asked for. */
  #backoffMs(lease: Lease, delivery: DeliveryResult): number {
    const askedMs = delivery.kind === 'undecided' ? boundRetryAfter(delivery.retryAfterMs) : 0
    return Math.max(askedMs, backoffMs(lease.attempts, this.#deps.random()))
  }

  #adaptPace({ origin }: Project, change: 'increase' | 'decrease', timing: 'prompt' | 'slow'): void {
    const pace = this.#origins.get(origin)?.pace
    if (change === 'increase') pace?.increase(timing)
    else pace?.decrease()
  }

  /** Removes an entry that was spooled before it was known that the server does not store its category. */
  async #drop(lease: Lease): Promise<void> {
    if (await this.#remove(lease, { state: 'declined' }))
      this.#listener.onFinalOutcome(lease, 'declined', undefined, 'not-stored')
  }

  /** Ends the delivery of an entry that Sentry has accepted. */
  async #finish(lease: Lease, status: number): Promise<void> {
    const ending = isKept(lease, this.#deps.keeping) ? ({ state: 'kept', status } as const) : undefined
    if (await this.#remove(lease, ending)) this.#listener.onFinalOutcome(lease, 'delivered', status)
  }

  /** Ends the delivery of an entry that Sentry does not accept. It stays as a dead letter. */
  async #decline(
    lease: Lease,
    status: number | undefined,
    message: string | undefined,
    answer = message,
  ): Promise<void> {
    if (await this.#remove(lease, { state: 'declined', status, answer }))
      this.#listener.onFinalOutcome(lease, 'declined', status, undefined, message)
  }

  /** Returns `true` when this replica reports the final outcome, also when only the spool's response was lost. */
  async #remove(lease: Lease, ending?: Ending): Promise<boolean> {
    const { spool, now } = this.#deps
    try {
      return await spool.finish(lease, ending)
    } catch (error) {
      if (!(await this.#mayBePending(lease))) return true
      await spool.postpone(lease, now() + STORE_DELAY_MS).catch(() => undefined) // it is due when its lease ends
      throw error
    }
  }

  /** Returns `true` also when the spool fails. */
  async #mayBePending(lease: Lease): Promise<boolean> {
    const { spool } = this.#deps
    return spool.list({ entry: lease }).then(
      (found) => found.length > 0,
      () => true,
    )
  }

  async #expire(): Promise<void> {
    try {
      for (const entry of await this.#expiry.expire())
        this.#listener.onFinalOutcome(entry, 'expired', undefined)
    } catch (error) {
      this.#noteFault(error)
    }
  }
}

function senderOf({ network, key }: Lease): EnvelopeSender {
  return { network, entry: key }
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
