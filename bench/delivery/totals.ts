/** Sums the samples of one subject over all rounds of a scenario. */

import type { Sample } from './round.ts'
import type { SubjectName } from './subjects/subjects.ts'

export type Totals = {
  raised: number
  captured: number
  sent: number
  unsent: number
  arrived: number
  duplicates: number
  pendingAtKills: number
  failures: string[]
}

export function totalsOf(rounds: readonly (readonly Sample[])[], subject: SubjectName): Totals {
  const samples = rounds.flatMap((round) => round.filter((sample) => sample.subject === subject))
  const bySdk = samples.flatMap((sample) => sample.bySdk)
  const add = <T>(of: readonly T[], what: (each: T) => number) =>
    of.reduce((sum, each) => sum + what(each), 0)
  return {
    raised: add(bySdk, ({ raised }) => raised),
    captured: add(bySdk, ({ captured }) => captured),
    sent: add(bySdk, ({ sent }) => sent),
    unsent: add(bySdk, ({ unsent }) => unsent),
    arrived: add(bySdk, ({ arrived }) => arrived),
    duplicates: add(bySdk, ({ duplicates }) => duplicates),
    pendingAtKills: add(samples, ({ pendingAtKills }) => pendingAtKills),
    failures: [...new Set(samples.flatMap(({ failures }) => failures))],
  }
}
