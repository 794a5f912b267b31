/** Item types of Sentry: data categories, size limits, and dependencies between items. */

import type { Category } from 'contract/categories'
import { Rejection } from 'contract/rejections'
import type { Range } from './body/ranges.ts'
import { type HeaderLine, valueRange } from './header-parser.ts'
import type { ItemHeader } from './headers.ts'

export type Item = {
  type: string
  header: ItemHeader
  /** The whole item, from the blank space before its header to its final newline, if there is one. */
  range: Range
  /** Payload bytes. */
  bytes: number
  /** Chunks of the payload, if the reader kept it. */
  payload: readonly Buffer[]
  /** Set if the reader kept the payload. */
  layout?: Layout
  /** Spans in a transaction that a filter has read and removed, without its own. */
  spans?: number
  /** Set for the attachment of which Relay makes an event, since no other item of the envelope is one. */
  createsEvent?: true
}

/** Positions in the body: of the payload, and of the header values that change with it. */
export type Layout = {
  payload: [start: number, end: number]
  /** Value of `item_count` in the header, if it has one. */
  count: [start: number, end: number] | undefined
  /** Value of `length` in the header, if it has one. */
  length: [start: number, end: number] | undefined
}

const KIB = 1024
const MIB = 1024 * KIB

export const DEFAULT_EVENT_BYTES = MIB

/**
 * Limits that several item types share: of each item, of all together, of their number. Without `totalBytes`, all together may be as
 * large as one.
 */
type Group = { name: string; itemBytes: number; totalBytes?: number; count: number; meanBytes?: number }

// relay-server/src/utils/sizes.rs `check_envelope_size_limits` with the defaults of relay-config/src/config.rs.
const EVENTS: Group = { name: 'events', itemBytes: DEFAULT_EVENT_BYTES, count: 1 }
const ATTACHMENTS: Group = { name: 'attachments', itemBytes: 200 * MIB, count: 30 }
const REPLAYS: Group = { name: 'replay recordings', itemBytes: 10 * MIB, count: 1 }
const VIDEOS: Group = { ...REPLAYS, name: 'replay videos' }
const SESSIONS: Group = { name: 'sessions', itemBytes: 10 * MIB, count: 100 }
const REPORTS: Group = { name: 'client reports', itemBytes: 100 * KIB, count: 100 }
const PROFILES: Group = { name: 'profiles', itemBytes: 50 * MIB, count: 1 }
const CHECK_INS: Group = { name: 'check-ins', itemBytes: 100 * KIB, count: 1 }
const LOGS: Group = { name: 'logs', itemBytes: 12 * MIB, count: 1, meanBytes: 2 * MIB }
const METRICS: Group = { name: 'metrics', itemBytes: 12 * MIB, count: 1, meanBytes: MIB }
const SPANS: Group = { name: 'spans', itemBytes: 12 * MIB, count: 1, meanBytes: 10 * MIB }
const LONE_SPANS: Group = { name: 'standalone spans', itemBytes: 10 * MIB, totalBytes: 12 * MIB, count: 25 }
const BUCKETS: Group = { name: 'metric buckets', itemBytes: MIB, count: 1 }
const STATSD: Group = { ...BUCKETS, name: 'statsd metrics' }

/**
 * `categories` are the data categories whose limits apply to the type (from `quantities` in
 * relay-server/src/envelope/item.rs). Client reports count the first. Types without categories are never limited.
 */
type ItemType = { categories: readonly Category[]; group?: Group }

const TYPES: ReadonlyMap<string, ItemType> = new Map(
  Object.entries<ItemType>({
    event: { categories: ['error'], group: EVENTS },
    transaction: { categories: ['transaction'], group: EVENTS },
    attachment: { categories: ['attachment', 'attachment_item'], group: ATTACHMENTS },
    feedback: { categories: ['feedback'], group: EVENTS },
    user_report: { categories: ['feedback'], group: ATTACHMENTS },
    session: { categories: ['session'], group: SESSIONS },
    sessions: { categories: ['session'], group: SESSIONS },
    client_report: { categories: [], group: REPORTS },
    replay_event: { categories: ['replay'], group: EVENTS },
    replay_recording: { categories: ['replay'], group: REPLAYS },
    replay_video: { categories: ['replay'], group: VIDEOS },
    profile: { categories: ['profile', 'transaction'], group: PROFILES },
    profile_chunk: { categories: ['profile_chunk'], group: PROFILES },
    check_in: { categories: ['monitor'], group: CHECK_INS },
    span: { categories: ['span'], group: SPANS },
    log: { categories: ['log_item', 'log_byte'], group: LOGS },
    trace_metric: { categories: ['trace_metric', 'trace_metric_byte'], group: METRICS },
    raw_security: { categories: ['security'], group: EVENTS },
    security: { categories: ['security'], group: EVENTS },
    nel: { categories: [] },
    statsd: { categories: ['metric_bucket'], group: STATSD },
    metric_buckets: { categories: ['metric_bucket'], group: BUCKETS },
    form_data: { categories: [], group: EVENTS },
    unreal_report: { categories: ['error'], group: ATTACHMENTS },
    // Types of earlier releases of Relay.
    otel_span: { categories: ['span'], group: LONE_SPANS },
    otel_traces_data: { categories: ['span'] },
    otel_log: { categories: ['log_item', 'log_byte'] },
  }),
)
const UI_PROFILE_CHUNK: readonly Category[] = ['profile_chunk_ui']
const UI_PROFILE: readonly Category[] = ['profile', 'transaction', 'profile_ui']
const BACKEND_PROFILE: readonly Category[] = ['profile', 'transaction', 'profile_backend']
/** Platforms whose profiles are of user interfaces (`ProfileType` in Relay). */
const UI_PLATFORMS: readonly unknown[] = ['javascript', 'cocoa', 'android']

/** Values of `attachment_type` of which Relay makes an event (`creates_event` in relay-server/src/envelope/item.rs). */
const EVENT_ATTACHMENTS: ReadonlySet<unknown> = new Set([
  'event.minidump',
  'event.applecrashreport',
  'event.payload',
  'event.breadcrumbs',
  'playstation.prosperodump',
  'nswitch.dying_message',
])
const EVENT_CATEGORIES: readonly Category[] = ['error']

/** Types that Relay reads as another one: Android's SDK 8.10 and 8.11 send `profile_chunk_ui`. */
const ALIASES: Readonly<Record<string, string>> = { profile_chunk_ui: 'profile_chunk' }
const NO_CATEGORIES: readonly Category[] = []

/** All known types. */
export const ITEM_TYPES: ReadonlySet<string> = new Set([...TYPES.keys(), ...Object.keys(ALIASES)])

/** Name of an attachment that may become an event, in receipts and metrics. */
const EVENT_ATTACHMENT = 'event_attachment'

/** Returns the type of an item for receipts and metrics, from a closed set: that of its category, and `other` for unknown ones. */
export function labelOf(item: Item): string {
  if (isEventAttachment(item)) return EVENT_ATTACHMENT
  return ITEM_TYPES.has(item.type) ? item.type : 'other'
}

/** All results of `labelOf`. */
export const ITEM_LABELS: ReadonlySet<string> = new Set([...ITEM_TYPES, EVENT_ATTACHMENT, 'other'])

/** Reports whether Relay makes an event of an attachment when no other item of its envelope is one. */
export function isEventAttachment({ type, header }: Pick<Item, 'type' | 'header'>): boolean {
  return type === 'attachment' && EVENT_ATTACHMENTS.has(header.attachment_type)
}

/** Types of which an envelope may have one: the event that its attachments belong to. */
const PARENTS = new Set(['event', 'transaction', 'feedback', 'raw_security', 'security', 'unreal_report'])

/** Marks the attachment of which Relay makes the event of the envelope. Further ones are parts of that event. */
export function markEventAttachment(items: readonly Item[]): void {
  const first = items.find(isEventAttachment)
  if (first && !items.some(({ type }) => PARENTS.has(type))) first.createsEvent = true
}

/**
 * Returns the categories of an item; those of a profile depend on its platform, those of an attachment on its `attachment_type`. Limits on
 * attachments do not remove those that become an event.
 */
export function categoriesOf(item: Item): readonly string[] {
  const { type, header } = item
  if (isEventAttachment(item)) return EVENT_CATEGORIES
  const { platform = type === 'profile_chunk_ui' ? 'android' : undefined } = header
  const isOfUi = UI_PLATFORMS.includes(platform)
  if (ofType(type) === TYPES.get('profile_chunk') && isOfUi) return UI_PROFILE_CHUNK
  if (type === 'profile' && typeof platform === 'string') return isOfUi ? UI_PROFILE : BACKEND_PROFILE
  return ofType(type)?.categories ?? NO_CATEGORIES
}

function ofType(type: string): ItemType | undefined {
  return TYPES.get(ALIASES[type] ?? type)
}

/** Returns the first category of a result of `labelOf`; `undefined` for none. */
export function categoryOfLabel(label: string): string | undefined {
  return label === EVENT_ATTACHMENT ? EVENT_CATEGORIES[0] : ofType(label)?.categories[0]
}

/** Returns the category for a limit of our own. Never empty: a limit without categories silences everything. */
export function limitNameOf(item: Item): string {
  return categoriesOf(item)[0] ?? (item.type === 'client_report' ? 'internal' : 'default')
}

/** Types with an `item_count`. A span without one is a single span of the first version. */
const CONTAINERS = new Set(['span', 'otel_span', 'log', 'trace_metric'])

/** Locates the parts of an item by its header, which begins at `lineStart` of the body. */
export function locateItem(line: HeaderLine, lineStart: number): Layout {
  const locate = (key: string): Layout['length'] => {
    const range = valueRange(line, key)
    return range && [lineStart + range[0], lineStart + range[1]]
  }
  const start = lineStart + line.text.length + 1
  return {
    payload: [start, start], // the end is not known yet
    count: locate('item_count'),
    length: line.value.length === null ? undefined : locate('length'),
  }
}

export function isContainer({ type, header }: Pick<Item, 'type' | 'header'>): boolean {
  return CONTAINERS.has(type) && typeof header.item_count === 'number'
}

/**
 * Returns the quantities of an item in a client report. Relay reports no sessions. The spans of a transaction are counted if a
 * filter has read its payload.
 */
export function quantitiesOf(item: Item): { category: string; quantity: number }[] {
  const [category] = categoriesOf(item)
  if (category === undefined || category === 'session') return []
  if (item.type === 'attachment')
    return [
      ...(item.createsEvent ? [{ category: 'error', quantity: 1 }] : []),
      { category: 'attachment', quantity: Math.max(1, item.bytes) },
      { category: 'attachment_item', quantity: 1 },
    ]
  if (item.spans !== undefined)
    return [
      { category, quantity: 1 },
      { category: 'span', quantity: item.spans + 1 },
    ]
  const count = { category, quantity: CONTAINERS.has(item.type) ? countOf(item) : 1 }
  return item.type === 'log' || item.type === 'otel_log'
    ? [count, { category: 'log_byte', quantity: Math.max(1, item.bytes) }]
    : [count]
}

/** Limits the sender's `item_count` to what can fit into the bytes. */
function countOf({ header, bytes }: Item): number {
  const count = header.item_count
  const maxCount = Math.max(1, Math.floor(bytes / 2))
  return typeof count === 'number' && Number.isInteger(count) && count > 0 ? Math.min(count, maxCount) : 1
}

/**
 * Adds the items that depend on dropped ones: attachments, the profile of a transaction, the other half of a replay
 * (`EnvelopeLimiter::execute`).
 */
export function addDependants(items: readonly Item[], dropped: Set<Item>): void {
  const gone = new Set([...dropped].map(({ type, createsEvent }) => (createsEvent ? 'event' : type)))
  for (const item of items) if (dependsOn(item.type, gone)) dropped.add(item)
}

/**
 * Returns the dropped items and their dependants, each with its reason. A dependant of several items has the reason that comes first in
 * `reasons`.
 */
export function withDependants<Reason>(
  items: readonly Item[],
  dropped: ReadonlyMap<Item, Reason>,
  reasons?: Iterable<Reason>,
): ReadonlyMap<Item, Reason> {
  if (dropped.size === 0) return dropped
  const all = new Map(dropped)
  for (const reason of reasons ?? new Set(dropped.values())) {
    const group = new Set(items.filter((item) => dropped.get(item) === reason))
    addDependants(items, group)
    for (const item of group) if (!all.has(item)) all.set(item, reason)
  }
  return all
}

function dependsOn(type: string, gone: ReadonlySet<string>): boolean {
  if (type === 'attachment') return !gone.isDisjointFrom(PARENTS)
  if (type === 'profile') return gone.has('transaction')
  return (
    (type === 'replay_event' || type === 'replay_recording') &&
    (gone.has('replay_event') || gone.has('replay_recording'))
  )
}

/** Sizes in bytes that a server accepts other than Relay: of an event, and of any other item. Absent: those of Relay by default. */
export type ItemSizes = { eventBytes?: number | undefined; itemBytes?: number | undefined }

/** Throws a `Rejection` when there are more or larger items than Relay accepts, or than `sizes` say. */
export function checkItems(items: readonly Item[], sizes: ItemSizes = {}): void {
  const totals = new Map<Group, { bytes: number; count: number }>()
  for (const item of items) {
    const group = sizeGroupOf(item)
    if (!group) continue
    checkItem(item, resize(group, sizes))
    const { bytes, count } = totals.get(group) ?? { bytes: 0, count: 0 }
    totals.set(group, { bytes: bytes + item.bytes, count: count + 1 })
  }
  for (const [group, { bytes, count }] of totals) {
    const { name, itemBytes, totalBytes = itemBytes, count: maxCount } = resize(group, sizes)
    if (bytes > totalBytes)
      throw new Rejection('item-too-large', `Its ${name} together are larger than ${totalBytes} bytes.`)
    if (count > maxCount)
      throw new Rejection('item-too-many', `It has ${count} ${name}; the maximum is ${maxCount}.`)
  }
}

/** Returns a group with another size. Of several items together, only the size of the envelope is limited then. */
function resize(group: Group, { eventBytes, itemBytes }: ItemSizes): Group {
  const bytes = group === EVENTS ? eventBytes : itemBytes
  if (bytes === undefined) return group
  const { name, count } = group
  return { name, count, itemBytes: bytes, totalBytes: count === 1 ? bytes : Number.POSITIVE_INFINITY }
}

function sizeGroupOf({ type, header }: Item): Group | undefined {
  return type === 'span' && header.item_count === undefined ? LONE_SPANS : ofType(type)?.group
}

function checkItem({ bytes, header }: Item, { name, itemBytes, meanBytes }: Group): void {
  if (bytes > itemBytes)
    throw new Rejection('item-too-large', `One of its ${name} is larger than ${itemBytes} bytes.`)
  const count = typeof header.item_count === 'number' ? Math.max(1, header.item_count) : 1
  if (meanBytes && bytes / count > meanBytes)
    throw new Rejection('item-too-large', `Its ${name} are larger than ${meanBytes} bytes on average.`)
}
