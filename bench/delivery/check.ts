/** Whether a run may be shown: where one of these does not hold, nothing that it counted is to be believed. */

import { Invalid } from '../report/run.ts'
import type { Plan } from './plan.ts'
import type { Outcome, Results } from './results.ts'
import type { WayName } from './subjects/ways.ts'
import { type Sum, sumOf } from './sums.ts'

/** Throws `Invalid`, with all that is wrong. */
export function check({ situations, ways }: Results, plan: Plan): void {
  const measured = situations.filter(({ skipped }) => skipped === undefined)
  const problems = measured.flatMap((outcome) =>
    ways.flatMap((way) =>
      faultsOf(outcome, way, sumOf(outcome.rounds, way), plan).map(
        (fault) => `${outcome.title}, ${way}: ${fault}`,
      ),
    ),
  )
  if (problems.length > 0) throw new Invalid(problems.join('; '))
}

const MOST_REFUSED = 0.02 // more, and the load of the benchmark is not that of a visitor

function faultsOf({ control, replays, beyond }: Outcome, way: WayName, sum: Sum, plan: Plan): string[] {
  const { raised, made, handed, refused, arrived, failures } = sum
  const few = !replays && !beyond && handed < plan.leastErrors
  const disagree = !replays && (raised < made || made < handed + refused)
  const lost = control && way === 'direct' && arrived < handed
  return [
    ...(few ? [`only ${handed} errors were sent`] : []),
    ...(disagree ? [`${raised} errors happened, ${made} events were made, ${handed} sent`] : []),
    ...(!beyond && refused > handed * MOST_REFUSED
      ? [`${refused} were refused by the browser, and ${handed} sent`]
      : []),
    ...(lost
      ? [
          `${handed - arrived} were lost where nothing was in their way; Chromium and its pages said: ${failures.join(', ') || 'nothing'}`,
        ]
      : []),
  ]
}
