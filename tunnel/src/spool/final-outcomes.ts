/** How waiting in the spool ends: told to whoever watches, and to Sentry when something was lost. */

import type { FinalOutcome } from '../contract.ts'
import type { ClientReports } from '../policy/client-reports.ts'
import type { Projects } from '../projects.ts'
import type { Receipts } from '../telemetry/receipts.ts'
import type { SpoolEntry } from './spool.ts'

export type FinalOutcomesDeps = {
  projects: Projects
  receipts: Receipts
  reports: ClientReports
  replica: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** What was lost, in Sentry's words where it has one. */
const LOST: { [end in FinalOutcome]?: string } = {
  expired: 'cache_overflow',
  purged: 'purged',
}

/** Called once for each envelope that no longer waits. */
export type OnFinalOutcome = (entry: SpoolEntry, end: FinalOutcome, status: number | undefined) => void

export function createFinalOutcomes({
  projects,
  receipts,
  reports,
  replica,
  now,
}: FinalOutcomesDeps): OnFinalOutcome {
  return function onFinalOutcome(entry, end, status) {
    const { receipt, received, category } = entry
    const project = projects.byKey(entry.project)
    const time = now()
    receipts.recordFinalOutcome({
      ...{
        receipt,
        final_outcome: end,
        time,
        waited_ms: time - received,
        project: project?.name ?? 'unknown',
        category,
        replica,
      },
      ...(status !== undefined && { upstream_status: status }),
    })
    const reason = LOST[end]
    if (project && reason !== undefined) reports.noteLost(project, reason, category)
  }
}
