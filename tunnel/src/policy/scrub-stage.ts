/** Stage of scrubbing. `scrub.ts`, which finds what to change, is loaded only where `SCRUB` is on. */

import type { ScrubReason } from 'contract/admin-api'
import { createRangeRemover, mergeRanges, type Range, sizeOfRanges } from '../envelope/body/ranges.ts'
import { addDependants, type Item, type Layout } from '../envelope/items.ts'
import type { Context, Stage } from '../pipeline/pipeline.ts'
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
): Stage {
  const isEnforced = scrubbing.mode === 'enforce'
  return function scrub(ctx) {
    if (isEnforced) ctx.scrubPage = (url) => scrubbing.scrubPage(url)
    const { trace, items } = ctx.remaining()
    const { address } = ctx.client
    const budget = scrubbing.startBudget()
    if (isEnforced && scrubbing.hidesAddressOf(items)) ctx.client = { ...ctx.client, address: undefined }
    const edits = trace ? scrubbing.scrubTrace(trace.bytes, budget) : []
    if (isEnforced) ctx.changedRanges.push(...edits.map((edit) => moveRange(edit, trace?.start ?? 0)))
    for (const item of items) {
      const found = scrubbing.scrub(item, budget)
      if (!isEnforced || !found) continue
      if (typeof found === 'string') removeWithDependants(ctx, item, found)
      else if (found.edits.length > 0 && item.layout) replacePayload(ctx, item, item.layout, found.edits)
    }
    const further = budget.spent() * BYTES_PER_MS - sizeOf(items)
    if (further > MIN_CHARGE) charge?.(address, further)
    return undefined
  }
}

function sizeOf(items: readonly Item[]): number {
  return items.reduce((bytes, item) => bytes + item.bytes, 0)
}

function removeWithDependants(ctx: Context, item: Item, reason: ScrubReason): void {
  const removed = new Set([item])
  addDependants(ctx.remaining().items, removed)
  ctx.remove(removed, reason)
}

function moveRange([start, end, replacement]: Range, by: number): Range {
  return replacement ? [start + by, end + by, replacement] : [start + by, end + by]
}

/** Replaces a payload as a whole, and its length in the header. What a filter has cut from it stays away. */
function replacePayload(ctx: Context, item: Item, layout: Layout, edits: readonly Range[]): void {
  const { payloadStart: start, length } = layout
  const payload = Buffer.concat(item.payload)
  const end = start + payload.length
  const isWithin = ([from, to]: Range) => from >= start && to <= end
  const cuts = ctx.changedRanges.filter(isWithin).map((range) => moveRange(range, -start))
  const ranges = mergeRanges([...cuts, ...edits])
  const scrubbed = Buffer.concat(createRangeRemover(ranges)(payload))
  ctx.changedRanges = ctx.changedRanges.filter(
    (range) => !isWithin(range) && !(length && range[0] === length[0]),
  )
  ctx.changedRanges.push([start, end, scrubbed])
  const bytes = payload.length - sizeOfRanges(ranges)
  if (length) ctx.changedRanges.push([length[0], length[1], Buffer.from(String(bytes))])
}
