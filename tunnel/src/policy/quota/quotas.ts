/** Quotas: how many items of each data category are forwarded in a day or an hour. `docs/filters.md` describes them. */

import { object } from 'contract/json'
import { type CountedNetwork, networkOf, networksAround } from 'contract/networks'
import type { PolicyMode, QuotaPeriod, QuotaReason, QuotaStatus } from 'contract/policies'
import type { RateLimit } from 'contract/rate-limits'
import { type Item, quantitiesOf, withDependants } from '../../envelope/items.ts'
import { parsePayload } from '../../envelope/payload.ts'
import type { Envelope } from '../../envelope/reader.ts'
import type { Stage } from '../../pipeline/pipeline.ts'
import { LimitCounters } from '../limit-counters.ts'
import { limitsOf, type QuotaSettings } from './settings.ts'

const COUNTED = new Set<string | undefined>(['delivered', 'spooled'])

/**
 * Removes the items that exceed a quota, and counts the others. The outcome takes back those that Sentry does not get. A spooled
 * envelope counts once. In the mode `observe` it counts all of them.
 */
export function quotaStage(
  quotas: Quotas,
): Stage<'client' | 'project' | 'remaining' | 'removed', 'onOutcome' | 'remove' | 'ownLimits'> {
  return function applyQuotas(ctx) {
    const sender = { project: ctx.project.name, network: networkOf(ctx.client.address) }
    const { removed, limits, charges } = quotas.charge(sender, ctx.remaining())
    ctx.onOutcome(({ outcome }) => {
      for (const [item, its] of charges)
        if (!COUNTED.has(outcome) || ctx.removed.has(item)) quotas.takeBack(its)
    })
    if (quotas.mode === 'observe') return undefined
    for (const [item, reason] of removed) ctx.remove([item], reason)
    ctx.ownLimits = limits
    return undefined
  }
}

export type QuotaDeps = {
  /** Milliseconds since 1970. */
  now: () => number
  /** Counts an item that is removed, or would be. `category` is absent for one without a quota, which depends on another one. */
  onRemoved: (mode: PolicyMode, project: string, category: string | undefined) => void
}

/** Sender of an envelope. `network` is empty for a private or unknown address. */
export type Sender = { project: string; network: string }

/** Amount that an item adds to the use of a quota, in the period that begins at `start`. */
type Charge = Sender & {
  category: string
  period: QuotaPeriod
  start: number
  limit: number
  quantity: number
}

export type Charged = {
  removed: ReadonlyMap<Item, QuotaReason>
  /** Limits for the SDK, on categories that are used up. */
  limits: readonly RateLimit[]
  /** Charges of the items that were counted. */
  charges: ReadonlyMap<Item, readonly Charge[]>
}

const HOUR_MS = 60 * 60 * 1000
export const PERIOD_MS: Readonly<Record<QuotaPeriod, number>> = { day: 24 * HOUR_MS, hour: HOUR_MS }
export const PERIODS = ['day', 'hour'] as const
const MAX_ANNOUNCED_SECONDS = 60
const MAX_COUNTERS = 5_000 // pairs of project and category
const MAX_NETWORK_COUNTERS = 50_000
/** Part of a quota that one client address may use of a replica; the /56 and the /48 around an IPv6 address two and four times as much. */
const NETWORK_SHARE = 0.05

/** Use by other replicas in the period that begins at `start`. It says nothing of the next one. */
export type OthersUse = { start: number; sums: ReadonlyMap<string, number> }

/** `networks` counts what client networks have used of this replica. */
type Use = { own: LimitCounters; networks: LimitCounters; others: OthersUse }

export class Quotas {
  readonly mode: PolicyMode
  readonly #limits: QuotaSettings['limits']
  readonly #deps: QuotaDeps
  readonly #uses: Record<QuotaPeriod, Use>
  /** Limits by category. Bounded by the configured projects. */
  readonly #byProject = new Map<string, Readonly<Record<QuotaPeriod, ReadonlyMap<string, number>>>>()

  constructor({ limits, mode }: QuotaSettings, deps: QuotaDeps) {
    this.mode = mode
    this.#limits = limits
    this.#deps = deps
    const useOf = (windowMs: number): Use => ({
      own: new LimitCounters({ now: deps.now, windowMs, keys: MAX_COUNTERS }),
      networks: new LimitCounters({ now: deps.now, windowMs, keys: MAX_NETWORK_COUNTERS }),
      others: { start: 0, sums: new Map() },
    })
    this.#uses = { day: useOf(PERIOD_MS.day), hour: useOf(PERIOD_MS.hour) }
  }

  /** Returns `true` if the payload of items of a type is read. */
  reads(type: string): boolean {
    const { day, hour } = this.#limits
    return type === 'replay_event' && [...day, ...hour].some(({ category }) => category === 'replay')
  }

  /** Finds the items to remove, with their dependants. Counts the others, so that each is judged with those before it. */
  charge(sender: Sender, { items }: Envelope): Charged {
    const exceeding = new Map<Item, QuotaReason>()
    const limits: RateLimit[] = []
    const charges = new Map<Item, readonly Charge[]>()
    for (const item of items) {
      const its = this.#chargesOf(sender, item)
      if (its.length === 0) continue
      charges.set(item, its)
      const exceeded = its.flatMap((charge) => {
        const reason = this.#exceeds(charge, charge.quantity)
        if (reason && this.#exceeds(charge, 1)) limits.push(this.#announce(charge))
        return reason ?? []
      })
      const [first] = exceeded
      if (first) exceeding.set(item, exceeded.includes('quota') ? 'quota' : first)
      if (!first || this.mode === 'observe') this.#count(its, 1)
    }
    const removed = withDependants(items, exceeding, REASONS)
    for (const item of removed.keys()) {
      const its = charges.get(item) ?? []
      this.#deps.onRemoved(this.mode, sender.project, its[0]?.category)
      if (this.mode === 'observe') continue
      if (!exceeding.has(item)) this.takeBack(its)
      charges.delete(item)
    }
    return { removed, limits, charges }
  }

  /** Subtracts an item that Sentry does not get, if it was counted in the current period. */
  takeBack(charges: readonly Charge[]): void {
    this.#count(
      charges.filter(({ period, start }) => start === this.startOf(period)),
      -1,
    )
  }

  /** Returns the counts of this replica in the current period, by project and category. */
  own(period: QuotaPeriod): Record<string, number> {
    return Object.fromEntries(this.#uses[period].own.entries())
  }

  /** Learns the counts of the other replicas. */
  learn(period: QuotaPeriod, others: OthersUse): void {
    this.#uses[period].others = others
  }

  /** Returns the start of the current period, in milliseconds since 1970. Days are those of UTC. */
  startOf(period: QuotaPeriod): number {
    const time = this.#deps.now()
    return time - (time % PERIOD_MS[period])
  }

  /** Lists the quotas of these projects. */
  describe(projects: readonly string[]): QuotaStatus[] {
    return [...new Set(projects)].flatMap((project) =>
      PERIODS.flatMap((period) =>
        Array.from(this.#limitsOf(project)[period], ([category, limit]) => {
          const used = this.#used({ project, category, period })
          return { project, category, period, limit, used, resets: this.startOf(period) + PERIOD_MS[period] }
        }),
      ),
    )
  }

  #count(charges: readonly Charge[], sign: 1 | -1): void {
    for (const charge of charges) {
      const { own, networks } = this.#uses[charge.period]
      own.add(quotaName(charge), sign * charge.quantity)
      if (charge.quantity > 0) networks.addToAll(networksOf(charge), sign * charge.quantity)
    }
  }

  /** Returns the reason why `quantity` more is too much of a quota, if it is. A later segment of a replay has a quantity of 0. */
  #exceeds(charge: Charge, quantity: number): QuotaReason | undefined {
    if (this.#used(charge) + quantity > charge.limit) return 'quota'
    const share = Math.max(1, charge.limit * NETWORK_SHARE)
    const { networks } = this.#uses[charge.period]
    const isTooMuch = quantity > 0 && networks.wouldExceed(networksOf(charge), quantity, share)
    return isTooMuch ? 'quota-address' : undefined
  }

  /** Returns the use by all replicas, as far as it is known. */
  #used(quota: Pick<Charge, 'project' | 'category' | 'period'>): number {
    const { period } = quota
    const { own, others } = this.#uses[period]
    const name = quotaName(quota)
    const byOthers = others.start === this.startOf(period) ? others.sums.get(name) : undefined
    return (own.read(name) ?? 0) + (byOthers ?? 0)
  }

  #limitsOf(project: string): Readonly<Record<QuotaPeriod, ReadonlyMap<string, number>>> {
    let known = this.#byProject.get(project)
    if (!known) {
      const { day, hour } = this.#limits
      known = { day: limitsOf(day, project), hour: limitsOf(hour, project) }
      this.#byProject.set(project, known)
    }
    return known
  }

  #chargesOf(sender: Sender, item: Item): Charge[] {
    const limits = this.#limitsOf(sender.project)
    const charges: Charge[] = []
    for (const { category, quantity } of quotaQuantitiesOf(item))
      for (const period of PERIODS) {
        const limit = limits[period].get(category)
        if (limit !== undefined)
          charges.push({ ...sender, category, period, start: this.startOf(period), limit, quantity })
      }
    return charges
  }

  #announce({ category, period, start }: Charge): RateLimit {
    const left = Math.ceil((start + PERIOD_MS[period] - this.#deps.now()) / 1000)
    return { seconds: Math.min(MAX_ANNOUNCED_SECONDS, Math.max(1, left)), categories: [category] }
  }
}

/** The stricter first. */
const REASONS: readonly QuotaReason[] = ['quota', 'quota-address']

function quotaName({ project, category }: Pick<Charge, 'project' | 'category'>): string {
  return `${project} ${category}`
}

function networksOf(charge: Charge): CountedNetwork[] {
  const quota = quotaName(charge)
  return networksAround(charge.network).map(({ name, factor }) => ({ name: `${name} ${quota}`, factor }))
}

/** Returns the quantity of an item as Sentry counts it. A replay counts once: with its first segment. */
export function quotaQuantitiesOf(item: Item): readonly { category: string; quantity: number }[] {
  if (item.type === 'session' || item.type === 'sessions') return [{ category: 'session', quantity: 1 }]
  const quantities = quantitiesOf(item)
  if (item.type === 'replay_recording' || (item.type === 'replay_event' && !isFirstSegment(item)))
    return quantities.map(({ category }) => ({ category, quantity: 0 }))
  return quantities
}

/** A payload that cannot be read counts as a first segment. */
function isFirstSegment({ payload, bytes }: Item): boolean {
  const whole = Buffer.concat(payload)
  const { segment_id: segment } = object(whole.length < bytes ? undefined : parsePayload(whole))
  return segment === 0 || typeof segment !== 'number'
}
