/** Numbers beside the links to pages that an operator should look at now. */

import { sumFigures } from 'contract/figures'
import { lossesOf, sumLosses } from 'contract/situation/losses'
import { isNote } from 'contract/situation/situation'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { sumOutcomes } from '../figures/figure-sums.ts'
import { RECENT } from '../figures/range.ts'
import type { Snapshot } from '../monitor/replica-monitor.ts'
import type { Place } from '../routes.ts'

/** `words` stand behind the name of the page for those who do not see the number. */
export type PageBadge = { place: Place; count: number; words: string }

/** Returns the badges of numbers that are known and not zero. */
export function badgesOf({
  situation,
  recent,
  spool,
}: Pick<Snapshot, 'situation' | 'recent' | 'spool'>): PageBadge[] {
  const problems = situation.problems.filter((problem) => !isNote(problem)).length
  const counts = recent.figures && sumFigures(recent.figures.points)
  const notTaken = counts ? sumOutcomes(counts).rejected + sumLosses(lossesOf(counts)) : 0
  const pending = spool?.envelopes ?? 0
  const badges: PageBadge[] = [
    { place: 'overview', count: problems, words: formatQuantity(problems, 'problem') },
    {
      ...{ place: 'rejections', count: notTaken },
      words: `${formatCount(notTaken)} rejected or lost in the last ${RECENT.words}`,
    },
    { place: 'spool', count: pending, words: `${formatCount(pending)} pending` },
  ]
  return badges.filter(({ count }) => count > 0)
}
