/** What did not go through, by why. */

import type { Answer } from 'tunnel/contract'
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
