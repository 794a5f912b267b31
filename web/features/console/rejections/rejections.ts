/** What did not go through, by why. */

import type { FateTime, RefusalSample, Refusals, SettingInForce } from 'tunnel/contract'
import type { Figures } from '../monitor/replica-metrics.ts'

export type Refused = Pick<FateTime, 'stage' | 'fate' | 'reason'> & { count: number; projects: string[] }

const PASSED = new Set<FateTime['fate']>(['delivered', 'spooled'])

/** The most frequent first. */
export function refusalsIn({ answers, ends }: Figures): Refused[] {
  const all = [
    ...answers.map(({ answer, ...its }) => ({ ...its, stage: 'answered' as const, fate: answer })),
    ...ends.map(({ end, ...its }) => ({ ...its, stage: 'waited' as const, fate: end, reason: '' })),
  ].filter(({ fate, count }) => !PASSED.has(fate) && count > 0)
  return [...Map.groupBy(all, whyOf).values()]
    .flatMap((its) => {
      const [first] = its
      if (!first) return []
      const { stage, fate, reason } = first
      const count = its.reduce((sum, each) => sum + each.count, 0)
      const projects = [...new Set(its.flatMap(({ project }) => project || []))]
      return [{ stage, fate, reason, count, projects }]
    })
    .sort((a, b) => b.count - a.count)
}

/** Names a fate and why. */
export function whyOf({ stage, fate, reason }: Pick<FateTime, 'stage' | 'fate' | 'reason'>): string {
  return `${stage} ${fate} ${reason}`
}

/** What several replicas tell, as one. They may differ in a setting while they are replaced. */
export function mergeRefusals(told: readonly Refusals[]): Refusals {
  const byCode = new Map<string, RefusalSample>()
  for (const sample of told.flatMap(({ refusals }) => refusals)) {
    const other = byCode.get(sample.code) ?? sample
    byCode.set(sample.code, sample.last > other.last ? sample : other)
  }
  const settings: Record<string, SettingInForce[]> = {}
  for (const [why, its] of told.flatMap(({ settings: all }) => Object.entries(all)))
    for (const setting of its) {
      settings[why] ??= []
      if (!settings[why].some(({ name, value }) => name === setting.name && value === setting.value))
        settings[why].push(setting)
    }
  return { refusals: [...byCode.values()], times: mergeTimes(told.flatMap(({ times }) => times)), settings }
}

function mergeTimes(times: readonly FateTime[]): FateTime[] {
  const byWhy = new Map<string, FateTime>()
  for (const time of times) {
    const other = byWhy.get(whyOf(time)) ?? time
    const [first, last] = [Math.min(time.first, other.first), Math.max(time.last, other.last)]
    byWhy.set(whyOf(time), { ...time, first, last })
  }
  return [...byWhy.values()]
}
