/** Policies of a replica, as operators see them. */

import type { PolicyStatus } from 'contract/policies'
import type { RuleHits } from '../observe/rule-hits.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { Quotas } from '../policy/quota/quotas.ts'
import type { ScrubSettings } from '../policy/scrub/scrub.ts'
import type { StormSettings, Storms } from '../policy/storms.ts'

/** Largest storms that are listed. */
const MAX_STORMS = 20

export type PolicyStatusDeps = {
  config: { scrub: ScrubSettings | undefined; storm: StormSettings }
  projects: Projects
  storms: Storms | undefined
  quotas: Quotas | undefined
  ruleHits: RuleHits
}

export function describePolicies(deps: PolicyStatusDeps): PolicyStatus {
  const { config, projects, storms, quotas, ruleHits } = deps
  const { scrub, storm } = config
  const names = projects.all.map(({ name }) => name)
  return {
    ...(scrub && { scrub: { level: scrub.level, mode: scrub.mode } }),
    ...(storms &&
      storm.limit > 0 && {
        storm: { limit: storm.limit, mode: storm.mode, storms: storms.active().slice(0, MAX_STORMS) },
      }),
    ...(quotas && { quota: { mode: quotas.mode, quotas: quotas.describe(names) } }),
    rules: ruleHits.all(),
  }
}
