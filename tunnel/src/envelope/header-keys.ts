/** The header keys that the tunnel reads; all others are forwarded, and never kept in memory. */

type Scalar = string | number | boolean | null

export type EnvelopeHeader = Readonly<{
  event_id?: Scalar
  dsn?: Scalar
  sent_at?: Scalar
  sdk?: Readonly<Record<string, Scalar>>
  trace?: Readonly<Record<string, Scalar>>
}>

export type ItemHeader = Readonly<Record<string, Scalar>>

const ENVELOPE_KEYS = ['event_id', 'dsn', 'sent_at']
const SDK_KEYS = ['name', 'version']
const TRACE_KEYS = ['trace_id', 'public_key', 'release', 'environment', 'transaction', 'sampled', 'replay_id']
const ITEM_KEYS = ['item_count', 'platform', 'content_type', 'filename', 'attachment_type', 'event_id']

export function keepEnvelopeHeader(value: Readonly<Record<string, unknown>>): EnvelopeHeader {
  const header: Record<string, unknown> = keepScalars(value, ENVELOPE_KEYS)
  if (isObject(value.sdk)) header.sdk = keepScalars(value.sdk, SDK_KEYS)
  if (isObject(value.trace)) header.trace = keepScalars(value.trace, TRACE_KEYS)
  return header
}

const NOTHING: ItemHeader = {}

/** Keeps what is used of an item's header, but for its type and its length. One object for all that have nothing else. */
export function keepItemHeader(value: Readonly<Record<string, unknown>>): ItemHeader {
  return ITEM_KEYS.some((key) => value[key] !== undefined) ? keepScalars(value, ITEM_KEYS) : NOTHING
}

function keepScalars(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Record<string, Scalar> {
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
