/** Stage that applies quotas. */

import type { Stage } from '../../pipeline.ts'
import { networkOf } from '../throttle.ts'
import type { Quotas } from './quotas.ts'

const COUNTED = new Set<string | undefined>(['delivered', 'spooled'])

/**
 * Removes the items that exceed a quota, and counts the others. What Sentry does not get is taken back with the outcome, so that a
 * spooled envelope counts once. In the mode `observe` it only counts.
 */
export function quotaStage(quotas: Quotas | undefined): Stage {
  return function applyQuotas(ctx) {
    if (!quotas) return undefined
    const envelope = ctx.remaining()
    const sender = { project: ctx.project.name, network: networkOf(ctx.client.address) }
    const { removed, limits } = quotas.judge(sender, envelope)
    const kept = envelope.items.filter((item) => !removed.has(item))
    const takeBack = quotas.charge(sender, kept)
    quotas.countRemoved(sender, removed.keys())
    ctx.onOutcome = ({ outcome }) => {
      for (const item of kept) if (!COUNTED.has(outcome) || ctx.removed.has(item)) takeBack(item)
    }
    if (quotas.mode === 'observe') return undefined
    for (const [item, reason] of removed) ctx.remove([item], reason)
    ctx.ownLimits.push(...limits)
    return undefined
  }
}
