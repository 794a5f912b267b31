/** Stage that applies quotas. */

import { networkOf } from 'contract/networks'
import type { Stage } from '../../pipeline.ts'
import type { Quotas } from './quotas.ts'

const COUNTED = new Set<string | undefined>(['delivered', 'spooled'])

/**
 * Removes the items that exceed a quota, and counts the others. The outcome takes back those that Sentry does not get. A spooled
 * envelope counts once. In the mode `observe` it only counts.
 */
export function quotaStage(quotas: Quotas | undefined): Stage {
  return function applyQuotas(ctx) {
    if (!quotas) return undefined
    const envelope = ctx.remaining()
    const sender = { project: ctx.project.name, network: networkOf(ctx.client.address) }
    const { removed, limits, checks } = quotas.judge(sender, envelope)
    const charged = [...checks].filter(([item]) => !removed.has(item))
    for (const item of removed.keys()) quotas.countRemoved(sender.project, checks.get(item) ?? [])
    ctx.onOutcome(({ outcome }) => {
      for (const [item, its] of charged)
        if (!COUNTED.has(outcome) || ctx.removed.has(item)) quotas.count(its, -1)
    })
    if (quotas.mode === 'observe') return undefined
    for (const [item, reason] of removed) ctx.remove([item], reason)
    ctx.ownLimits.push(...limits)
    return undefined
  }
}
