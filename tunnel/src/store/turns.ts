/** Order in which entries of several projects and categories are taken. */

import { priorityOf } from '../envelope/priorities.ts'
import type { Pause, ProjectDemand } from '../pipeline/spool.ts'

/** Entries of one project and category. */
export type Partition = { project: string; category: string }

/** Lists partitions by priority. Equal ones take turns, so that no project waits for another one's flood. */
export class Turns {
  #turns = 0

  order<T extends Partition>(partitions: readonly T[]): T[] {
    const start = this.#turns++ % Math.max(1, partitions.length)
    const rotated = [...partitions.slice(start), ...partitions.slice(0, start)]
    return rotated.sort((a, b) => priorityOf(a.category) - priorityOf(b.category))
  }
}

/** Returns the partitions from which entries are wanted, and not paused. */
export function selectWanted<T extends Partition>(
  partitions: readonly T[],
  demands: readonly ProjectDemand[],
  pauses: readonly Pause[],
): T[] {
  const heldBack = new Map(demands.map((each) => [each.project, each.rateLimitedCategories]))
  for (const { project } of pauses) {
    if (project === undefined) return []
    heldBack.delete(project)
  }
  return partitions.filter(({ project, category }) => heldBack.get(project)?.includes(category) === false)
}
