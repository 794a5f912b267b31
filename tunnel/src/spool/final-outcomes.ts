/** How waiting in the spool ends: told to whoever watches, and to Sentry when something was lost. */

import type { SpoolEnd } from '../contract.ts'
import type { ClientReports } from '../policy/client-reports.ts'
import type { Projects } from '../projects.ts'
import type { Receipts } from '../telemetry/receipts.ts'
import type { Waiting } from './spool.ts'

export type EndsParts = {
  projects: Projects
  receipts: Receipts
  reports: ClientReports
  replica: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** What was lost, in Sentry's words where it has one. */
const LOST: { [end in SpoolEnd['end']]?: string } = { expired: 'cache_overflow', purged: 'purged' }

/** Called once for each envelope that no longer waits. */
export type OnEnd = (waiting: Waiting, end: SpoolEnd['end'], status: number | undefined) => void

export function createEnds({ projects, receipts, reports, replica, now }: EndsParts): OnEnd {
  return function onEnd(waiting, end, status) {
    const { receipt, received, category } = waiting
    const project = projects.byKey(waiting.project)
    const time = now()
    receipts.end({
      ...{
        receipt,
        end,
        time,
        waited: time - received,
        project: project?.name ?? 'unknown',
        category,
        replica,
      },
      ...(status !== undefined && { upstreamStatus: status }),
    })
    const reason = LOST[end]
    if (project && reason !== undefined) reports.noteLost(project, reason, category)
  }
}
