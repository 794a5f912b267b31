/** Properties of items that quotas need: quantity, importance, and place in a sample. */

import { list, object } from 'contract/json'
import { type Item, quantitiesOf } from '../../envelope/items.ts'
import { parsePayload } from '../../envelope/payload.ts'
import type { Envelope } from '../../envelope/reader.ts'

export type Quantity = { category: string; quantity: number }

/** Parts of a `replay_event` that decide its price and its importance. */
type ReplaySegment = { isFirst: boolean; hasError: boolean }

const OF_TRACE = new Set(['transaction', 'span', 'profile', 'profile_chunk'])

/** Returns what Sentry counts for an item. A replay counts once: with its first segment. */
export function quotaQuantitiesOf(item: Item): readonly Quantity[] {
  if (item.type === 'session' || item.type === 'sessions') return [{ category: 'session', quantity: 1 }]
  const quantities = quantitiesOf(item)
  if (item.type === 'replay_recording' || (item.type === 'replay_event' && !readSegment(item).isFirst))
    return quantities.map(({ category }) => ({ category, quantity: 0 }))
  return quantities
}

/** Reports whether a replay has recorded an error. */
export function hasReplayError({ items }: Envelope): boolean {
  return items.some((item) => item.type === 'replay_event' && readSegment(item).hasError)
}

/**
 * Returns a number of at least 0 and below 1. It is the same for all items of one trace, for all segments of one replay, and on every
 * replica. Items without an ID get a random one.
 */
export function positionOf({ type }: Item, { header, eventId }: Envelope, random: () => number): number {
  const traceId = OF_TRACE.has(type) ? header.trace?.trace_id : undefined
  const id = typeof traceId === 'string' ? traceId : (eventId ?? '')
  return /^[\da-f]{8}/i.test(id) ? Number.parseInt(id.slice(0, 8), 16) / 2 ** 32 : random()
}

const segments = new WeakMap<Item, ReplaySegment>()

function readSegment(item: Item): ReplaySegment {
  const known = segments.get(item)
  if (known) return known
  const segment = parseSegment(item)
  segments.set(item, segment)
  return segment
}

/** A payload that cannot be read counts as a first segment without an error. */
function parseSegment({ payload, bytes }: Item): ReplaySegment {
  const whole = Buffer.concat(payload)
  const event = object(whole.length < bytes ? undefined : parsePayload(whole))
  const { segment_id: segment, error_ids: errors, replay_type: type } = event
  return {
    isFirst: segment === 0 || typeof segment !== 'number',
    hasError: type === 'buffer' || list(errors).length > 0,
  }
}
