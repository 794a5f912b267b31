/** What one way carried in all rounds of a situation. */

import { spreadOf } from '../report/figures.ts'
import type { Cell } from './round.ts'
import type { WayName } from './subjects/ways.ts'

export type Sum = {
  raised: number
  made: number
  handed: number
  refused: number
  arrived: number
  duplicates: number
  inHandAtKills: number
  failures: string[]
  /** Medians of the rounds, in ms, and pages that did not come. */
  page: { p50: number; p95: number; failed: number }
}

export function sumOf(rounds: readonly (readonly Cell[])[], way: WayName): Sum {
  const cells = rounds.flatMap((round) => round.filter((cell) => cell.way === way))
  const tallies = cells.flatMap((cell) => cell.tallies)
  const add = <T>(of: readonly T[], what: (each: T) => number) =>
    of.reduce((sum, each) => sum + what(each), 0)
  const median = (what: (cell: Cell) => number) => spreadOf(cells.map(what)).median
  return {
    raised: add(tallies, ({ raised }) => raised),
    made: add(tallies, ({ made }) => made),
    handed: add(tallies, ({ handed }) => handed),
    refused: add(tallies, ({ refused }) => refused),
    arrived: add(tallies, ({ arrived }) => arrived),
    duplicates: add(tallies, ({ duplicates }) => duplicates),
    inHandAtKills: add(cells, ({ inHandAtKills }) => inHandAtKills),
    failures: [...new Set(cells.flatMap(({ failures }) => failures))],
    page: {
      p50: median(({ page }) => page.p50),
      p95: median(({ page }) => page.p95),
      failed: add(cells, ({ page }) => page.failed),
    },
  }
}
