/** Validates a run before its results are shown. */

import { Invalid } from '../report/run.ts'
import type { Plan } from './plan.ts'
import type { Results, ScenarioResult } from './results.ts'
import type { SubjectName } from './subjects/subjects.ts'
import { type Totals, totalsOf } from './totals.ts'

/** Throws `Invalid` with every problem of the run. */
export function check({ scenarios, subjects }: Results, plan: Plan): void {
  const measured = scenarios.filter(({ skipped }) => skipped === undefined)
  const problems = measured.flatMap((result) =>
    subjects.flatMap((subject) =>
      faultsOf(result, subject, totalsOf(result.rounds, subject), plan).map(
        (fault) => `${result.title}, ${subject}: ${fault}`,
      ),
    ),
  )
  if (problems.length > 0) throw new Invalid(problems.join('; '))
}

const MAX_UNSENT_SHARE = 0.02 // above it, the load is not that of visitors

function faultsOf(
  { control, replays, beyond }: ScenarioResult,
  subject: SubjectName,
  sum: Totals,
  plan: Plan,
): string[] {
  const { raised, captured, sent, unsent, arrived, failures } = sum
  const few = !replays && !beyond && sent < plan.leastErrors
  const disagree = !replays && (raised < captured || captured < sent + unsent)
  const lost = control && subject === 'direct' && arrived < sent
  return [
    ...(few ? [`only ${sent} errors were sent`] : []),
    ...(disagree ? [`${raised} errors happened, ${captured} events were captured, ${sent} sent`] : []),
    ...(!beyond && unsent > sent * MAX_UNSENT_SHARE
      ? [`${unsent} were not sent by the browser, and ${sent} were`]
      : []),
    ...(lost
      ? [
          `${sent - arrived} were lost without a disruption; Chromium and its pages reported: ${failures.join(', ') || 'nothing'}`,
        ]
      : []),
  ]
}
