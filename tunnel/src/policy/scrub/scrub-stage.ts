/** Stage of scrubbing. `scrub.ts`, which finds what to change, is loaded only where `SCRUB` is on. */

import type { ScrubReason } from 'contract/admin-api'
import { addDependants, type Item } from '../../envelope/items.ts'
import type { Parts, Stage } from '../../pipeline/pipeline.ts'
import type { Scrubbing } from './scrub.ts'

/** Bytes on the wire that one millisecond of scrubbing counts for: ordinary payloads take less. */
const BYTES_PER_MS = 32 * 1024
const MIN_CHARGE = 256 * 1024

/**
 * Replaces what the rules find, and removes items that cannot be scrubbed. In the mode `observe` it only counts. Charges the time that
 * exceeds that of ordinary payloads to the client address, as bytes.
 */
export function scrubStage(
  scrubbing: Scrubbing,
  charge?: (address: string | undefined, bytes: number) => void,
): Stage<'remaining', 'client' | 'scrubPage' | 'changedRanges' | 'replacePayload' | 'remove'> {
  const isEnforced = scrubbing.mode === 'enforce'
  return function scrub(ctx) {
    if (isEnforced) ctx.scrubPage = (url) => scrubbing.scrubPage(url)
    const { trace, items } = ctx.remaining()
    const { address } = ctx.client
    const budget = scrubbing.startBudget()
    if (isEnforced && scrubbing.hidesAddressOf(items)) ctx.client = { ...ctx.client, address: undefined }
    const scrubbedTrace = trace && scrubbing.scrubTrace(trace.bytes, budget)
    if (isEnforced && scrubbedTrace)
      ctx.changedRanges = [
        ...ctx.changedRanges,
        [trace.start, trace.start + trace.bytes.length, scrubbedTrace],
      ]
    for (const item of items) {
      const found = scrubbing.scrub(item, budget)
      if (!isEnforced || !found) continue
      if (typeof found === 'string') removeWithDependants(ctx, item, found)
      else if (found.payload) ctx.replacePayload(item, found.payload)
    }
    const further = budget.spent() * BYTES_PER_MS - sizeOf(items)
    if (further > MIN_CHARGE) charge?.(address, further)
    return undefined
  }
}

function sizeOf(items: readonly Item[]): number {
  return items.reduce((bytes, item) => bytes + item.bytes, 0)
}

function removeWithDependants(ctx: Parts<'remaining' | 'remove'>, item: Item, reason: ScrubReason): void {
  const removed = new Set([item])
  addDependants(ctx.remaining().items, removed)
  ctx.remove(removed, reason)
}
