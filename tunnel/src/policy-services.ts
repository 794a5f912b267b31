/** Creates the policies of a tunnel from its settings. */

import type { PolicyRule } from 'contract/policies'
import type { Counters } from './observe/counters.ts'
import type { Log } from './observe/log.ts'
import type { FilterSettings } from './policy/filters/filter-list.ts'
import { Filters } from './policy/filters/filters.ts'
import { QuotaSharing, type QuotaSharingDeps } from './policy/quota/quota-sharing.ts'
import { Quotas } from './policy/quota/quotas.ts'
import type { QuotaSettings } from './policy/quota/settings.ts'
import type { Scrubbing, ScrubSettings } from './policy/scrub/scrub.ts'
import { type StormSettings, Storms } from './policy/storms.ts'
import { Throttle, type ThrottleSettings } from './policy/throttle.ts'

export type PolicyServices = {
  filters: Filters
  throttle: Throttle
  /** Absent: identical errors are not counted. */
  storms: Storms | undefined
  /** Absent without a quota. */
  quotas: Quotas | undefined
  /** Absent without a quota. */
  quotaSharing: QuotaSharing | undefined
  /** Absent: payloads are forwarded unmodified. */
  scrubbing: Scrubbing | undefined
  /** Rules that the operator has written. */
  writtenRules: readonly PolicyRule[]
  /** Returns `true` for a type of items whose payloads a policy reads. The parser keeps no other ones. */
  readsPayload: (type: string) => boolean
}

type PolicySettings = {
  filters: FilterSettings
  throttle: ThrottleSettings
  scrub: ScrubSettings | undefined
  storm: StormSettings
  quota: QuotaSettings
}

type PolicyDeps = {
  config: PolicySettings
  counters: Counters
  replica: string
  state: QuotaSharingDeps['state']
  log: Log
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
}

export async function openPolicies(deps: PolicyDeps): Promise<PolicyServices> {
  const { config, replica, state, log, now, clock } = deps
  const scrubbing = await openScrubbing(deps)
  const filters = new Filters(config.filters)
  const storms = createStorms(deps, scrubbing)
  const quotas = createQuotas(deps)
  return {
    filters,
    throttle: new Throttle(config.throttle, clock),
    storms,
    quotas,
    quotaSharing: quotas && new QuotaSharing({ state, quotas, replica, logger: log.logger, now }),
    scrubbing,
    writtenRules: listRules(config),
    readsPayload: (type) => [filters, storms, quotas, scrubbing].some((policy) => policy?.reads(type)),
  }
}

/** Returns the rules that the operator has written. */
function listRules({ scrub, quota }: PolicySettings): PolicyRule[] {
  const scrubRules = scrub?.selected.flatMap(({ rules }) => rules.map(({ id }) => id)) ?? []
  const categories = [...quota.limits.day, ...quota.limits.hour].map(({ category }) => category)
  return [
    ...scrubRules.map((rule) => ({ policy: 'scrub' as const, rule })),
    ...categories.map((rule) => ({ policy: 'quota' as const, rule })),
  ]
}

async function openScrubbing({ config: { scrub }, counters }: PolicyDeps): Promise<Scrubbing | undefined> {
  if (!scrub) return undefined
  const { Scrubbing } = await import('./policy/scrub/scrub.ts') // loaded when needed, for a faster start
  return new Scrubbing(scrub, (...found) => counters.countScrubbed(...found))
}

function createStorms(
  { config: { storm }, counters, now }: PolicyDeps,
  scrubbing: Scrubbing | undefined,
): Storms | undefined {
  if (storm.limit === 0) return undefined
  return new Storms(storm, {
    now,
    onRemoved: (...removed) => counters.countStorm(...removed),
    scrub: (title) => (scrubbing?.mode === 'enforce' ? scrubbing.scrubPage(title) : title),
  })
}

function createQuotas({ config: { quota }, counters, now }: PolicyDeps): Quotas | undefined {
  if (quota.limits.day.length + quota.limits.hour.length === 0) return undefined
  return new Quotas(quota, {
    now,
    onRemoved: (...removed) => counters.countQuota(...removed),
  })
}
