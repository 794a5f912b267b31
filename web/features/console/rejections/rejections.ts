/** What did not go through, by why. */

import type { OutcomeTime, RejectionSample, Rejections, SettingInForce } from 'tunnel/contract'
import type { Figures } from '../monitor/replica-metrics.ts'

export type RejectionCount = Pick<OutcomeTime, 'stage' | 'outcome' | 'reason'> & {
  count: number
  projects: string[]
}

const PASSED = new Set<OutcomeTime['outcome']>(['delivered', 'spooled'])

/** The most frequent first. */
export function rejectionsIn({ outcomes: answers, finalOutcomes: ends }: Figures): RejectionCount[] {
  const all = [
    ...answers.map(({ outcome, ...its }) => ({ ...its, stage: 'answered' as const, outcome })),
    ...ends.map(({ finalOutcome: end, ...its }) => ({
      ...its,
      stage: 'waited' as const,
      outcome: end,
      reason: '',
    })),
  ].filter(({ outcome, count }) => !PASSED.has(outcome) && count > 0)
  return [...Map.groupBy(all, reasonKey).values()]
    .flatMap((its) => {
      const [first] = its
      if (!first) return []
      const { stage, outcome, reason } = first
      const count = its.reduce((sum, each) => sum + each.count, 0)
      const projects = [...new Set(its.flatMap(({ project }) => project || []))]
      return [{ stage, outcome, reason, count, projects }]
    })
    .sort((a, b) => b.count - a.count)
}

/** Names a outcome and why. */
export function reasonKey({
  stage,
  outcome,
  reason,
}: Pick<OutcomeTime, 'stage' | 'outcome' | 'reason'>): string {
  return `${stage} ${outcome} ${reason}`
}

/** What several replicas tell, as one. They may differ in a setting while they are replaced. */
export function mergeRejections(told: readonly Rejections[]): Rejections {
  const byCode = new Map<string, RejectionSample>()
  for (const sample of told.flatMap(({ rejections }) => rejections)) {
    const other = byCode.get(sample.code) ?? sample
    byCode.set(sample.code, sample.last > other.last ? sample : other)
  }
  const settings: Record<string, SettingInForce[]> = {}
  for (const [reason, its] of told.flatMap(({ settings: all }) => Object.entries(all)))
    for (const setting of its) {
      settings[reason] ??= []
      if (!settings[reason].some(({ name, value }) => name === setting.name && value === setting.value))
        settings[reason].push(setting)
    }
  return { rejections: [...byCode.values()], times: mergeTimes(told.flatMap(({ times }) => times)), settings }
}

function mergeTimes(times: readonly OutcomeTime[]): OutcomeTime[] {
  const byWhy = new Map<string, OutcomeTime>()
  for (const time of times) {
    const other = byWhy.get(reasonKey(time)) ?? time
    const [first, last] = [Math.min(time.first, other.first), Math.max(time.last, other.last)]
    byWhy.set(reasonKey(time), { ...time, first, last })
  }
  return [...byWhy.values()]
}
