/** Stage that samples identical errors beyond a limit. */

import type { SamplingReason } from 'contract/policies'
import { addDependants } from '../../envelope/items.ts'
import type { Stage } from '../../pipeline.ts'
import type { Storms } from './storms.ts'

/** Removes errors of a storm, and their attachments. In the mode `observe` it only counts. */
export function stormStage(storms: Storms | undefined): Stage {
  return function sampleStorms(ctx) {
    if (!storms) return undefined
    const { items } = ctx.remaining()
    const { name } = ctx.project
    const removed = new Set(
      items.filter((item) => (item.type === 'event' || item.createsEvent) && storms.isExcess(name, item)),
    )
    if (removed.size === 0 || storms.mode === 'observe') return undefined
    addDependants(items, removed)
    ctx.remove(removed, 'storm' satisfies SamplingReason)
    return undefined
  }
}
