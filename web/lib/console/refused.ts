/** What did not go through, by why. */

import type { Answer, RefusalSample, Refusals, SettingInForce } from 'tunnel/contract'
import type { Figures } from './figures.ts'

export type Refused = { answer: Answer; reason: string; count: number; projects: string[] }

const PASSED = new Set<Answer>(['delivered', 'spooled'])

/** The most frequent first. */
export function refusalsIn({ answers }: Figures): Refused[] {
  const byWhy = new Map<string, Refused>()
  for (const { answer, reason, project, count } of answers) {
    if (PASSED.has(answer) || count === 0) continue
    const key = `${answer} ${reason}`
    const its = byWhy.get(key) ?? { answer, reason, count: 0, projects: [] }
    its.count += count
    if (project && !its.projects.includes(project)) its.projects.push(project)
    byWhy.set(key, its)
  }
  return [...byWhy.values()].sort((a, b) => b.count - a.count)
}

/** What several replicas tell, as one. They may differ in a setting while they are replaced. */
export function mergeRefusals(told: readonly Refusals[]): Refusals {
  const byCode = new Map<string, RefusalSample>()
  for (const sample of told.flatMap(({ refusals }) => refusals)) {
    const other = byCode.get(sample.code) ?? sample
    const newest = sample.last > other.last ? sample : other
    byCode.set(sample.code, { ...newest, first: Math.min(sample.first, other.first) })
  }
  const settings: Record<string, SettingInForce[]> = {}
  for (const [why, its] of told.flatMap(({ settings: all }) => Object.entries(all)))
    for (const setting of its) {
      settings[why] ??= []
      if (!settings[why].some(({ name, value }) => name === setting.name && value === setting.value))
        settings[why].push(setting)
    }
  return { refusals: [...byCode.values()], settings }
}
