/** Creates the policies of a tunnel from its settings. */

import type { PolicyMode } from 'contract/policies'
import type { Forwarding } from './forward/forwarding.ts'
import type { Counters } from './observe/counters.ts'
import type { Log } from './observe/log.ts'
import type { MetricsDeps } from './observe/metrics.ts'
import { type PolicyRule, RuleHits } from './observe/rule-hits.ts'
import type { Projects } from './pipeline/projects.ts'
import { QuotaSharing } from './policy/quota/quota-sharing.ts'
import { Quotas } from './policy/quota/quotas.ts'
import type { QuotaSettings } from './policy/quota/settings.ts'
import type { Scrubbing, ScrubSettings } from './policy/scrub/scrub.ts'
import { type StormSettings, Storms } from './policy/storms.ts'

export type PolicyServices = {
  /** Absent: identical errors are not counted. */
  storms: Storms | undefined
  /** Absent without a quota. */
  quotas: Quotas | undefined
  /** Absent without a quota or a spool: each replica counts for itself. */
  quotaSharing: QuotaSharing | undefined
  /** Absent: payloads are forwarded unmodified. */
  scrubbing: Scrubbing | undefined
  ruleHits: RuleHits
}

type PolicySettings = { scrub: ScrubSettings | undefined; storm: StormSettings; quota: QuotaSettings }

const STORM_RULE = 'identical errors'

/** Returns the rules that the operator has written. */
function listRules({ scrub, quota }: PolicySettings): PolicyRule[] {
  const scrubRules = scrub?.selected.flatMap(({ rules }) => rules.map(({ id }) => id)) ?? []
  const categories = [...quota.limits.day, ...quota.limits.hour].map(({ category }) => category)
  return [
    ...scrubRules.map((rule) => ({ policy: 'scrub' as const, rule })),
    ...categories.map((rule) => ({ policy: 'quota' as const, rule })),
  ]
}

async function openScrubbing(
  { scrub }: PolicySettings,
  counters: Counters,
  ruleHits: RuleHits,
): Promise<Scrubbing | undefined> {
  if (!scrub) return undefined
  const { Scrubbing } = await import('./policy/scrub/scrub.ts') // loaded when needed, for a faster start
  return new Scrubbing(scrub, (rule, mode, count) => {
    counters.countScrubbed(rule, mode, count)
    ruleHits.note('scrub', rule, count)
  })
}

type PolicyDeps = {
  config: PolicySettings
  /** Milliseconds since 1970. */
  now: () => number
  counters: Counters
  replica: string
  log: Log
  forwarding: Forwarding
}

export async function openPolicies({
  config,
  now,
  counters,
  replica,
  log,
  forwarding,
}: PolicyDeps): Promise<PolicyServices> {
  const { storm, quota } = config
  const ruleHits = new RuleHits(listRules(config), now)
  const scrubbing = await openScrubbing(config, counters, ruleHits)
  const onRemoved = (mode: PolicyMode, project: string, count: number) => {
    counters.countPolicyItems('storm', mode, project, count)
    ruleHits.note('storm', STORM_RULE, count)
  }
  const scrub = (title: string) => (scrubbing?.mode === 'enforce' ? scrubbing.scrubPage(title) : title)
  const storms = storm.limit > 0 ? new Storms(storm, { now, onRemoved, scrub }) : undefined
  if (quota.limits.day.length + quota.limits.hour.length === 0)
    return { storms, quotas: undefined, quotaSharing: undefined, scrubbing, ruleHits }
  const quotas = new Quotas(quota, {
    now,
    onRemoved(mode, project, category) {
      counters.countPolicyItems('quota', mode, project, 1)
      if (category !== undefined) ruleHits.note('quota', category, 1)
    },
  })
  const state = forwarding.spool.store.state
  const quotaSharing = state && new QuotaSharing({ state, quotas, replica, logger: log.logger, now })
  return { storms, quotas, quotaSharing, scrubbing, ruleHits }
}

/** Returns the values for metrics. The policies need the metrics: they are opened later. */
export function policyGauges(
  policies: () => Pick<PolicyServices, 'storms' | 'quotas'>,
  projects: Projects,
): Pick<MetricsDeps, 'quotas' | 'storms'> {
  const names = projects.all.map(({ name }) => name)
  return {
    storms: () => policies().storms?.active() ?? [],
    quotas: () => policies().quotas?.describe(names) ?? [],
  }
}
