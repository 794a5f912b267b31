/** Records final outcomes of spool entries, and reports losses to the Sentry that would have got them. Counts those for mirrors apart. */

import type { FinalOutcome } from 'contract/admin-api'
import type { ClientReports } from '../pipeline/client-reports.ts'
import { isMirrorKey, type Projects } from '../pipeline/projects.ts'
import type { OnFinalOutcome } from '../pipeline/spool.ts'
import type { Counters } from './counters.ts'
import type { Receipts } from './receipts.ts'

type FinalOutcomesDeps = {
  projects: Projects
  receipts: Receipts
  counters: Pick<Counters, 'countMirrored'>
  reports: ClientReports
  replica: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** Reasons of client reports for lost entries, Sentry's own where it has one. */
const LOST: { [outcome in FinalOutcome]?: string } = {
  expired: 'cache_overflow',
  evicted: 'cache_overflow',
  purged: 'purged',
}

export function createFinalOutcomes(deps: FinalOutcomesDeps): OnFinalOutcome {
  const { projects, receipts, counters, reports, replica, now } = deps
  return function onFinalOutcome(entry, finalOutcome, status, reason, message) {
    if (entry.isRejected) return // its receipt has the only outcome
    const { receipt, eventId, received, category } = entry
    const project = projects.destinationOf(entry.project)
    const lost = LOST[finalOutcome]
    if (project && lost !== undefined) reports.noteLost(project, lost, category)
    if (isMirrorKey(entry.project))
      return counters.countMirrored(projects.nameOf(entry.project), finalOutcome)
    const time = now()
    receipts.recordFinalOutcome({
      ...{
        receipt,
        final_outcome: finalOutcome,
        time,
        waited_ms: Math.max(0, time - received),
        project: project?.name ?? 'unknown',
        category,
        replica,
      },
      ...(eventId !== undefined && { event_id: eventId }),
      ...(status !== undefined && { upstream_status: status }),
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { upstream_message: message }),
    })
  }
}
