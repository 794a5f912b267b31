/** Quotas: how many items of each data category are forwarded in a day or an hour. `docs/quota.md` describes them. */

import { type CountedNetwork, networkOf, networksAround } from 'contract/networks'
import type { PolicyMode, QuotaPeriod, QuotaReason, SamplingReason } from 'contract/policies'
import type { RateLimit } from 'contract/rate-limits'
import { type Item, withDependants } from '../../envelope/items.ts'
import type { Envelope } from '../../envelope/reader.ts'
import type { Stage } from '../../pipeline/pipeline.ts'
import { LimitCounters } from '../limit-counters.ts'
import { type CounterKey, nameOf, PERIOD_MS, PERIODS, QuotaUses, startOf } from './quota-use.ts'
import { hasReplayError, positionOf, type Quantity, quotaQuantitiesOf } from './sampling.ts'
import { limitsOf, type QuotaSettings } from './settings.ts'

const COUNTED = new Set<string | undefined>(['delivered', 'spooled'])

/**
 * Removes the items that exceed a quota, and counts the others. The outcome takes back those that Sentry does not get. A spooled
 * envelope counts once. In the mode `observe` it only counts.
 */
export function quotaStage(quotas: Quotas): Stage {
  return function applyQuotas(ctx) {
    const envelope = ctx.remaining()
    const sender = { project: ctx.project.name, network: networkOf(ctx.client.address) }
    const { removed, limits, checks } = quotas.judge(sender, envelope)
    const charged = [...checks].filter(([item]) => !removed.has(item))
    for (const item of removed.keys()) quotas.countRemoved(sender.project, checks.get(item) ?? [])
    ctx.onOutcome(({ outcome }) => {
      for (const [item, its] of charged)
        if (!COUNTED.has(outcome) || ctx.removed.has(item)) quotas.count(its, -1)
    })
    if (quotas.mode === 'observe') return undefined
    for (const [item, reason] of removed) ctx.remove([item], reason)
    ctx.ownLimits.push(...limits)
    return undefined
  }
}

export type RemovalReason = QuotaReason | Extract<SamplingReason, 'quota-sampled'>

export type QuotaDeps = {
  /** Milliseconds since 1970. */
  now: () => number
  /** Random number of at least 0 and below 1. */
  random: () => number
  /** Reports whether an error is the first of its kind. */
  isFirstOccurrence: (item: Item) => boolean
  /** Counts an item that is removed, or would be. `category` is absent for one without a quota, which depends on another one. */
  onRemoved: (mode: PolicyMode, project: string, category: string | undefined) => void
  /** Called for each category with a quota of an item that passes. */
  onCounted: (category: string) => void
}

/** Sender of an envelope. `network` is empty for an address that is private or unknown. */
export type Sender = { project: string; network: string }

export type Judgement = {
  removed: ReadonlyMap<Item, RemovalReason>
  /** Limits for the SDK, on categories that are used up. */
  limits: readonly RateLimit[]
  /** Of each item that has a quota. */
  checks: ReadonlyMap<Item, readonly Check[]>
}

/** Counter of an item, what the item adds to it, and the networks of the sender with keys of their own. */
type Check = { key: CounterKey; limit: number; quantity: number; networks: readonly CountedNetwork[] }

/** Part of a quota from which on items are sampled. */
const SOFT_SHARE = 0.8
/** Part of an `error` quota that only first occurrences may use. */
const RESERVED_SHARE = 0.05
/** Part of a quota that one client address may use; the /56 and the /48 around an IPv6 address two and four times as much. */
const NETWORK_SHARE = 0.05
const MAX_ANNOUNCED_SECONDS = 60
const NETWORKS = 50_000

/** The strictest first. */
const REASONS: readonly RemovalReason[] = ['quota', 'quota-address', 'quota-sampled']

export class Quotas {
  readonly mode: PolicyMode
  readonly counters: QuotaUses
  /** Replicas that count, among which the requests of one address are spread. */
  replicas = 1
  readonly #limits: QuotaSettings['limits']
  readonly #deps: QuotaDeps
  /** Use by networks on this replica. Keys have the start of their period, and are not forgotten by time. */
  readonly #byNetwork: LimitCounters
  readonly #byProject = new Map<string, Readonly<Record<QuotaPeriod, ReadonlyMap<string, number>>>>()

  constructor({ limits, mode }: QuotaSettings, deps: QuotaDeps) {
    this.mode = mode
    this.counters = new QuotaUses(deps.now)
    this.#byNetwork = new LimitCounters({ now: deps.now, keys: NETWORKS, perSecond: 0 })
    this.#limits = limits
    this.#deps = deps
  }

  /** Tells if the payload of items of a type is read. */
  reads(type: string): boolean {
    const { day, hour } = this.#limits
    return type === 'replay_event' && [...day, ...hour].some(({ category }) => category === 'replay')
  }

  /** Finds the items to remove, with their dependants. Counts the others, so that each is judged with those before it. */
  judge(sender: Sender, envelope: Envelope): Judgement {
    const removed = new Map<Item, RemovalReason>()
    const limits: RateLimit[] = []
    const checks = new Map<Item, readonly Check[]>()
    for (const item of envelope.items) {
      const its = this.#checksOf(sender, quotaQuantitiesOf(item))
      if (its.length === 0) continue
      checks.set(item, its)
      const found = its.flatMap((check) => {
        const reason = this.#reasonFor(check, item, envelope)
        const isUsedUp = reason && reason !== 'quota-sampled' && this.#hasNoneLeft(check)
        if (isUsedUp) limits.push(this.#announce(check.key))
        return reason ?? []
      })
      const reason = REASONS.find((each) => found.includes(each))
      if (reason) removed.set(item, reason)
      else this.count(its, 1)
    }
    const all = withDependants(envelope.items, removed, REASONS)
    for (const [item, its] of checks) if (all.has(item) && !removed.has(item)) this.count(its, -1)
    return { removed: all, limits, checks }
  }

  /** Counts an item that is forwarded, or takes it back if `sign` is -1. */
  count(checks: readonly Check[], sign: 1 | -1): void {
    for (const { key, quantity, networks } of checks) {
      this.counters.add(key, sign * quantity, 0)
      if (quantity > 0) this.#byNetwork.addToAll(networks, sign * quantity)
      if (key.period === 'day' && sign === 1) this.#deps.onCounted(key.category)
    }
  }

  /** Counts an item that is removed, or would be. */
  countRemoved(project: string, checks: readonly Check[]): void {
    this.#deps.onRemoved(this.mode, project, checks[0]?.key.category)
    for (const { key, quantity } of checks) this.counters.add(key, 0, quantity)
  }

  /** Returns the limits of a project by category. */
  limitsOf(project: string, period: QuotaPeriod): ReadonlyMap<string, number> {
    let known = this.#byProject.get(project) // bounded by the configured projects
    if (!known) {
      const { day, hour } = this.#limits
      known = { day: limitsOf(day, project), hour: limitsOf(hour, project) }
      this.#byProject.set(project, known)
    }
    return known[period]
  }

  #isImportant(item: Item, envelope: Envelope): boolean {
    if (item.type === 'event' || item.createsEvent) return this.#deps.isFirstOccurrence(item)
    return item.type.startsWith('replay_') && hasReplayError(envelope)
  }

  /** LimitCounters are kept for the day and the hour of each category that has a limit. */
  #checksOf({ project, network }: Sender, quantities: readonly Quantity[]): Check[] {
    const now = this.#deps.now()
    const [day, hour] = PERIODS.map((period) => this.limitsOf(project, period))
    return quantities.flatMap(({ category, quantity }) => {
      if (!day?.has(category) && !hour?.has(category)) return []
      return PERIODS.map((period) => {
        const key = { project, category, period, start: startOf(period, now) }
        const limit = this.limitsOf(project, period).get(category) ?? Infinity
        return { key, limit, quantity, networks: networksFor(key, network) }
      })
    })
  }

  #reasonFor(
    { key, limit, quantity, networks }: Check,
    item: Item,
    envelope: Envelope,
  ): RemovalReason | undefined {
    if (limit === Infinity) return undefined
    const { used } = this.counters.read(key)
    if (used + quantity > limit) return 'quota'
    if (quantity === 0) return undefined // a later segment of a replay
    if (this.#byNetwork.wouldExceed(networks, quantity, this.#shareOf(limit))) return 'quota-address'
    const end = endOf(key.category, limit)
    const rate = (end - used) / (end - limit * SOFT_SHARE)
    if (rate >= 1 || this.#isImportant(item, envelope)) return undefined
    return positionOf(item, envelope, this.#deps.random) < rate ? undefined : 'quota-sampled'
  }

  /** Reports whether not even one more passes, of anybody or of this network. */
  #hasNoneLeft({ key, limit, networks }: Check): boolean {
    if (this.counters.read(key).used + 1 > limit) return true
    return this.#byNetwork.wouldExceed(networks, 1, this.#shareOf(limit))
  }

  /** Returns the part of a limit that one client address may use on this replica. */
  #shareOf(limit: number): number {
    return Math.max(1, (limit * NETWORK_SHARE) / this.replicas)
  }

  #announce({ category, period, start }: CounterKey): RateLimit {
    const left = Math.ceil((start + PERIOD_MS[period] - this.#deps.now()) / 1000)
    return { seconds: Math.min(MAX_ANNOUNCED_SECONDS, Math.max(1, left)), categories: [category] }
  }
}

/** Returns the use at which items end that are not important. */
export function endOf(category: string, limit: number): number {
  return category === 'error' ? limit * (1 - RESERVED_SHARE) : limit
}

function networksFor(key: CounterKey, network: string): CountedNetwork[] {
  const counter = nameOf(key)
  return networksAround(network).map(({ name, factor }) => ({ name: `${name} ${counter}`, factor }))
}
