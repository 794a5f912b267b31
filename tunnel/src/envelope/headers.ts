/** Envelope and item headers: their limits, validation, the fields kept in memory, and those that only Relay may write. */

import { isObject, type Json } from 'contract/json'
import { Rejection } from 'contract/rejections'
import { type HeaderLine, rawValue } from './header-parser.ts'
import { parseTime } from './sent-at.ts'

type Scalar = string | number | boolean | null

export type EnvelopeHeader = Readonly<{
  event_id?: Scalar
  dsn?: Scalar
  sent_at?: Scalar
  sdk?: Readonly<Record<string, Scalar>>
  trace?: Readonly<Record<string, Scalar>>
}>

/** Fields of an item's header that are in use, without type and length. */
export type ItemHeader = Readonly<Record<string, Scalar>>

export type HeaderLimits = {
  /** Bytes of one header line. */
  headerBytes: number
  /** Bytes of all header lines of one envelope. */
  totalHeaderBytes: number
  /** Keys of one header. */
  headerKeys: number
  /** Levels of objects and arrays in one header. */
  headerNesting: number
  /** Values in all headers of one envelope, nested ones included. The cost of parsing is proportional to them. */
  headerValues: number
}

/** Items of one envelope. */
export const MAX_ITEMS = 1000

export const DEFAULT_HEADER_LIMITS: HeaderLimits = {
  headerBytes: 64 * 1024,
  totalHeaderBytes: 1024 * 1024,
  headerKeys: 100,
  headerNesting: 16,
  headerValues: 20_000,
}

/** Halves the limits that only an attack comes near, for a request that may have ended another replica. */
export function halveHeaderLimits(limits: HeaderLimits): HeaderLimits {
  return {
    headerBytes: limits.headerBytes,
    totalHeaderBytes: limits.totalHeaderBytes / 2,
    headerKeys: limits.headerKeys / 2,
    headerNesting: limits.headerNesting / 2,
    headerValues: limits.headerValues / 2,
  }
}

const ENVELOPE_KEYS = ['event_id', 'dsn', 'sent_at']
const SDK_KEYS = ['name', 'version']
const TRACE_KEYS = ['trace_id', 'public_key', 'release', 'environment', 'transaction', 'sampled', 'replay_id']
const ITEM_KEYS = ['item_count', 'platform', 'content_type', 'filename', 'attachment_type', 'event_id']

// With `forwarded_for` a browser could forge its address (from relay-server/src/extractors/request_meta.rs
// and relay-server/src/envelope/item.rs).
export const RELAY_ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  'client',
  'version',
  'origin',
  'remote_addr',
  'forwarded_for',
  'user_agent',
  'client_hints',
  'no_cache',
  'retention',
  'downsampled_retention',
  'required_features',
])
export const RELAY_ITEM_KEYS: ReadonlySet<string> = new Set([
  'rate_limited',
  'source_quantities',
  'metrics_extracted',
  'spans_extracted',
  'sampled',
  'fully_normalized',
  'routing_hint',
])

const KNOWN_ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  ...ENVELOPE_KEYS,
  'sdk',
  'trace',
  ...RELAY_ENVELOPE_KEYS,
])

/** Returns `true` if an envelope header has keys that Sentry does not define, which may also be the fields of an event. */
export function hasOtherKeys({ value }: HeaderLine): boolean {
  return Object.keys(value).some((key) => !KNOWN_ENVELOPE_KEYS.has(key))
}

/** Throws a `Rejection` when a header has too many keys or levels. */
export function checkComplexity({ marks, nesting }: HeaderLine, limits: HeaderLimits): void {
  const { headerKeys, headerNesting } = limits
  if (marks.length / 4 > headerKeys)
    throw new Rejection('header-too-complex', `It has more than ${headerKeys} keys.`)
  if (nesting > headerNesting)
    throw new Rejection('header-too-complex', `It is nested deeper than ${headerNesting} levels.`)
}

/** Validates an envelope header as Relay's `EnvelopeHeaders` does, and returns the fields in use. `null` counts as absent. */
export function readEnvelopeHeader({ value }: HeaderLine): EnvelopeHeader {
  const { event_id, sent_at, dsn, sdk, trace } = value
  if (!isAbsent(event_id) && !(typeof event_id === 'string' && UUID.test(event_id)))
    throw new Rejection('header-invalid', 'Its event_id is not a UUID.')
  if (!isAbsent(sent_at) && !(typeof sent_at === 'string' && parseTime(sent_at) !== undefined))
    throw new Rejection('header-invalid', 'Its sent_at is not an RFC 3339 time.')
  if (!isAbsent(dsn) && typeof dsn !== 'string')
    throw new Rejection('header-invalid', 'Its dsn is not a string.')
  const header: Record<string, unknown> = keepScalars(value, ENVELOPE_KEYS)
  if (isObject(sdk)) header.sdk = keepScalars(sdk, SDK_KEYS)
  if (isObject(trace)) header.trace = keepScalars(trace, TRACE_KEYS)
  return header
}

const EMPTY: ItemHeader = {} // shared: an envelope may have a thousand items

export function readItemHeader({ value }: HeaderLine): ItemHeader {
  return ITEM_KEYS.some((key) => value[key] !== undefined) ? keepScalars(value, ITEM_KEYS) : EMPTY
}

const MAX_LENGTH = 0xffff_ffff // Relay reads `length` as u32

/** Returns the payload's length; `undefined` for a payload that ends at the next newline. */
export function readLength(line: HeaderLine): number | undefined {
  if (isAbsent(line.value.length)) return undefined
  const raw = rawValue(line, 'length') ?? ''
  if (!/^(0|[1-9]\d{0,9})$/.test(raw) || Number(raw) > MAX_LENGTH)
    throw new Rejection('item-header-invalid', 'Its length is not a whole number of bytes.')
  return Number(raw)
}

const UUID = /^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i

function keepScalars(value: Json, keys: readonly string[]): Record<string, Scalar> {
  const kept: Record<string, Scalar> = {}
  for (const key of keys) {
    const member = value[key]
    if (isScalar(member)) kept[key] = member
  }
  return kept
}

function isScalar(value: unknown): value is Scalar {
  return value === null || (typeof value !== 'object' && value !== undefined)
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}
