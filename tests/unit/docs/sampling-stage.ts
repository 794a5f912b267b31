/** Keeps a share of the transactions. The traces that are kept are the same on every replica. */

import { addDependants } from '../../../tunnel/src/envelope/items.ts'
import type { Stage } from '../../../tunnel/src/pipeline/pipeline.ts'

/** `rate` is the share of traces to keep, from 0 to 1. */
export function samplingStage(rate: number): Stage<'remaining', 'remove'> {
  return function sampleTransactions(ctx) {
    const { header, items } = ctx.remaining()
    const transactions = items.filter(({ type }) => type === 'transaction')
    if (transactions.length === 0 || positionOf(header.trace?.trace_id) < rate) return undefined
    const dropped = new Set(transactions)
    addDependants(items, dropped) // profiles and attachments
    ctx.remove(dropped, 'storm')
    return undefined
  }
}

/** Maps a trace ID to a number of at least 0 and below 1. Returns 0 for other values. */
function positionOf(traceId: unknown): number {
  const isTraceId = typeof traceId === 'string' && /^[0-9a-f]{32}$/i.test(traceId)
  return isTraceId ? Number.parseInt(traceId.slice(0, 8), 16) / 2 ** 32 : 0
}
