/** Whether a run may be shown: where one of these does not hold, nothing that it counted is to be believed. */

import type { Plan } from './plan.ts'
import type { Results } from './results.ts'
import { Invalid } from './round.ts'
import { sumOf } from './sums.ts'

/** Throws `Invalid`, with all that is wrong. */
export function check(results: Results, plan: Plan): void {
  const problems = results.situations.flatMap(({ title, rounds, replays }) =>
    results.ways.flatMap((way) => {
      const sum = sumOf(rounds, way)
      const enough = replays || sum.handed >= plan.leastErrors
      return [
        ...(enough ? [] : [`${title}, ${way}: only ${sum.handed} errors were sent`]),
        ...(replays || (sum.raised >= sum.made && sum.made >= sum.handed)
          ? []
          : [
              `${title}, ${way}: ${sum.raised} errors happened, ${sum.made} events were made, ${sum.handed} sent`,
            ]),
        ...(rounds.length === plan.rounds ? [] : [`${title}: ${rounds.length} rounds`]),
      ]
    }),
  )
  if (problems.length > 0) throw new Invalid(problems.join('; '))
}
