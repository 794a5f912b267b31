/** What Sentry knows of item types: their data categories, the sizes it takes, and what hangs on what. */

import type { Range } from '../body/ranges.ts'
import { Rejection } from '../rejections.ts'
import type { ItemHeader } from './headers.ts'

export type Item = {
  type: string
  header: ItemHeader
  /** The whole item, from blank space before its header to after the newline that ends it, if one does. */
  range: Range
  /** Payload bytes. */
  bytes: number
  /** Chunks of the payload, when the reader was asked to keep it. */
  payload: readonly Buffer[]
}

/**
 * Data categories that a limit can name and that hold an item back, by item type (PROTOCOL §2, from `quantities` in
 * relay-server/src/envelope/item.rs). The first is what a client report counts it under. None: never limited.
 */
const CATEGORIES: Readonly<Record<string, readonly string[]>> = {
  event: ['error'],
  transaction: ['transaction'],
  attachment: ['attachment', 'attachment_item'],
  feedback: ['feedback'],
  user_report: ['feedback'],
  session: ['session'],
  sessions: ['session'],
  client_report: [],
  replay_event: ['replay'],
  replay_recording: ['replay'],
  replay_video: ['replay'],
  profile: ['profile', 'transaction'],
  profile_chunk: ['profile_chunk'],
  check_in: ['monitor'],
  span: ['span'],
  log: ['log_item', 'log_byte'],
  trace_metric: ['trace_metric', 'trace_metric_byte'],
  raw_security: ['security'],
  security: ['security'],
  nel: [],
  statsd: ['metric_bucket'],
  metric_buckets: ['metric_bucket'],
  form_data: [],
  unreal_report: ['error'],
}

export const ITEM_TYPES: ReadonlySet<string> = new Set(Object.keys(CATEGORIES))

/** Every category that can hold something back; others in a limit say nothing to us. */
export const CATEGORY_NAMES: ReadonlySet<string> = new Set([
  ...Object.values(CATEGORIES).flat(),
  'profile_chunk_ui',
])

const NONE: readonly string[] = []

/** The categories of an item; a profile chunk's depends on its platform. */
export function categoriesOf({ type, header }: Item): readonly string[] {
  if (type === 'profile_chunk' && header.platform === 'javascript') return ['profile_chunk_ui']
  return Object.hasOwn(CATEGORIES, type) ? (CATEGORIES[type] ?? NONE) : NONE
}

/** The category that items of a type count under; a receipt tells types alone. `undefined` where there is none. */
export function categoryOfType(type: string): string | undefined {
  return Object.hasOwn(CATEGORIES, type) ? CATEGORIES[type]?.[0] : undefined
}

/** What to call an item in a limit of our own: never nothing, since a limit that names nothing silences everything. */
export function limitNameOf(item: Item): string {
  return categoriesOf(item)[0] ?? (item.type === 'client_report' ? 'internal' : 'default')
}

/** Types whose header tells how many they hold. */
const CONTAINERS = new Set(['span', 'log', 'trace_metric'])

/**
 * What an item counts for in a client report, by category. Relay reports no sessions (PROTOCOL §6). How many spans a transaction has stands in
 * its payload, into which nobody looks, so those are not told.
 */
export function quantitiesOf(item: Item): { category: string; quantity: number }[] {
  const [category] = categoriesOf(item)
  if (category === undefined || category === 'session') return []
  if (item.type === 'attachment')
    return [
      { category, quantity: Math.max(1, item.bytes) },
      { category: 'attachment_item', quantity: 1 },
    ]
  const count = { category, quantity: CONTAINERS.has(item.type) ? countOf(item) : 1 }
  return item.type === 'log' ? [count, { category: 'log_byte', quantity: Math.max(1, item.bytes) }] : [count]
}

/** Each entry takes a few bytes: a sender's word is believed no further. */
function countOf({ header, bytes }: Item): number {
  const count = header.item_count
  const most = Math.max(1, Math.floor(bytes / 2))
  return typeof count === 'number' && Number.isInteger(count) && count > 0 ? Math.min(count, most) : 1
}

const PARENTS = new Set(['event', 'transaction', 'feedback', 'raw_security', 'security', 'unreal_report'])

/**
 * What goes when `dropped` go: attachments with what they are attached to, the profile with its transaction, the other half of a
 * replay (PROTOCOL §6, `EnvelopeLimiter::execute`).
 */
export function addDependants(items: readonly Item[], dropped: Set<Item>): void {
  const gone = new Set([...dropped].map(({ type }) => type))
  for (const item of items) if (hangsOn(item.type, gone)) dropped.add(item)
}

function hangsOn(type: string, gone: ReadonlySet<string>): boolean {
  if (type === 'attachment') return !gone.isDisjointFrom(PARENTS)
  if (type === 'profile') return gone.has('transaction')
  return (
    (type === 'replay_event' || type === 'replay_recording') &&
    (gone.has('replay_event') || gone.has('replay_recording'))
  )
}

const KIB = 1024
const MIB = 1024 * KIB

/** A bound that several item types share: each item's bytes, and all of them together. */
type Group = { name: string; itemBytes: number; totalBytes: number; count: number; meanBytes?: number }

// relay-server/src/utils/sizes.rs `check_envelope_size_limits` with the defaults of relay-config/src/config.rs (PROTOCOL §3).
const EVENTS: Group = { name: 'events', itemBytes: MIB, totalBytes: MIB, count: 1 }
const ATTACHMENTS: Group = { name: 'attachments', itemBytes: 200 * MIB, totalBytes: 200 * MIB, count: 30 }
const REPLAYS: Group = { name: 'replay recordings', itemBytes: 10 * MIB, totalBytes: 10 * MIB, count: 1 }
const SESSIONS: Group = { name: 'sessions', itemBytes: 10 * MIB, totalBytes: 10 * MIB, count: 100 }
const REPORTS: Group = { name: 'client reports', itemBytes: 100 * KIB, totalBytes: 100 * KIB, count: 100 }
const PROFILES: Group = { name: 'profiles', itemBytes: 50 * MIB, totalBytes: 50 * MIB, count: 1 }
const CHECK_INS: Group = { name: 'check-ins', itemBytes: 100 * KIB, totalBytes: 100 * KIB, count: 1 }
const LOGS: Group = { name: 'logs', itemBytes: 12 * MIB, totalBytes: 12 * MIB, count: 1, meanBytes: 2 * MIB }
const TRACE_METRICS: Group = {
  name: 'metrics',
  itemBytes: 12 * MIB,
  totalBytes: 12 * MIB,
  count: 1,
  meanBytes: MIB,
}
const SPANS: Group = {
  name: 'spans',
  itemBytes: 12 * MIB,
  totalBytes: 12 * MIB,
  count: 1,
  meanBytes: 10 * MIB,
}
const LONE_SPANS: Group = { name: 'standalone spans', itemBytes: 10 * MIB, totalBytes: 12 * MIB, count: 25 }
const BUCKETS: Group = { name: 'metric buckets', itemBytes: MIB, totalBytes: MIB, count: 1 }

const GROUPS: Readonly<Record<string, Group>> = {
  event: EVENTS,
  transaction: EVENTS,
  security: EVENTS,
  raw_security: EVENTS,
  form_data: EVENTS,
  replay_event: EVENTS,
  feedback: EVENTS,
  attachment: ATTACHMENTS,
  unreal_report: ATTACHMENTS,
  user_report: ATTACHMENTS,
  replay_recording: REPLAYS,
  replay_video: REPLAYS,
  session: SESSIONS,
  sessions: SESSIONS,
  client_report: REPORTS,
  profile: PROFILES,
  profile_chunk: PROFILES,
  check_in: CHECK_INS,
  log: LOGS,
  trace_metric: TRACE_METRICS,
  statsd: BUCKETS,
  metric_buckets: BUCKETS,
}

function groupOf({ type, header }: Item): Group | undefined {
  if (type === 'span') return header.item_count === undefined ? LONE_SPANS : SPANS
  return Object.hasOwn(GROUPS, type) ? GROUPS[type] : undefined
}

/** Throws a `Rejection` when the items are more or larger than Relay takes. */
export function checkItems(items: readonly Item[]): void {
  const [only, ...others] = items
  if (!only) return
  if (others.length === 0) checkItem(only, groupOf(only))
  else checkTotals(items)
}

function checkTotals(items: readonly Item[]): void {
  const totals = new Map<Group, { bytes: number; count: number }>()
  for (const item of items) {
    const group = groupOf(item)
    checkItem(item, group)
    if (!group) continue
    const { bytes, count } = totals.get(group) ?? { bytes: 0, count: 0 }
    totals.set(group, { bytes: bytes + item.bytes, count: count + 1 })
  }
  for (const [{ name, totalBytes, count: most }, { bytes, count }] of totals) {
    if (bytes > totalBytes)
      throw new Rejection('item-too-large', `Its ${name} are larger than ${totalBytes} bytes together.`)
    if (count > most)
      throw new Rejection('item-too-many', `It has ${count} ${name}; ${most} may travel together.`)
  }
}

function checkItem({ bytes, header }: Item, group: Group | undefined): void {
  if (!group) return
  const { name, itemBytes, meanBytes } = group
  if (bytes > itemBytes)
    throw new Rejection('item-too-large', `Of ${name} it has one larger than ${itemBytes} bytes.`)
  const count = typeof header.item_count === 'number' ? Math.max(1, header.item_count) : 1
  if (meanBytes && bytes / count > meanBytes)
    throw new Rejection('item-too-large', `Its ${name} are larger than ${meanBytes} bytes each, on average.`)
}
