/** Envelopes of each project since the start, by category and outcome. */

import type { ProjectTraffic } from 'contract/admin-api'
import type { Counters } from '../observe/counters.ts'

/** Returns a function that returns the traffic of a project. */
export function trafficByProject({
  envelopes,
  finalOutcomes,
}: Pick<Counters, 'envelopes' | 'finalOutcomes'>): (project: string) => ProjectTraffic {
  const counted = Map.groupBy(envelopes.all, ({ labels }) => labels.project)
  const ended = Map.groupBy(finalOutcomes.all, ({ labels }) => labels.project)
  return (project) => ({
    traffic: sumOverReasons(counted.get(project) ?? []),
    final_outcomes: Object.fromEntries(
      (ended.get(project) ?? []).map(({ labels, count }) => [labels.final_outcome, count]),
    ),
  })
}

function sumOverReasons(counts: Counters['envelopes']['all']): ProjectTraffic['traffic'] {
  const byName = new Map<string, ProjectTraffic['traffic'][number]>()
  for (const { labels, count, bytes } of counts.filter((each) => each.count > 0)) {
    const { category, outcome } = labels
    const sum = byName.get(`${category} ${outcome}`) ?? { category, outcome, envelopes: 0, bytes: 0 }
    byName.set(`${category} ${outcome}`, {
      ...sum,
      ...{ envelopes: sum.envelopes + count, bytes: sum.bytes + bytes },
    })
  }
  return [...byName.values()]
}
