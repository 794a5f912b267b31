/** Fields that filters read, from the payload of each item type (`Filterable` in relay-filter/src/interface.rs). */

import { isObject, type Json, list, object, scalarText, text } from 'contract/json'

/** Missing texts are empty. */
export type Filterable = {
  /** Name of a transaction, or of a span's segment. */
  transaction: string
  /** Name that the SDK's instrumentation has written into `sentry.origin`. */
  origin: string
  /** Kind of the transaction or span, such as `pageload`. */
  op: string
  release: string
  message: string
  url: string
  address: string
  /** `Host` and `X-Forwarded-Host` of the reported request. */
  hosts: readonly string[]
  userAgent: string
  /** Version of a browser of which `userAgent` is only the name. */
  browserVersion: string
  exceptions: readonly Exception[]
  /** Blocked URL and source file of a CSP report. */
  cspSources: readonly string[]
  segment?: Segment
  /** Number of spans in a transaction, without its own. */
  spans?: number
}

export type Exception = { type: string; value: string; places: string[] }

/** Segment that a span belongs to, or is the root of. Missing IDs are empty. */
type Segment = { traceId: string; segmentId: string }

const EMPTY: Filterable = {
  transaction: '',
  origin: '',
  op: '',
  release: '',
  message: '',
  url: '',
  address: '',
  hosts: [],
  userAgent: '',
  browserVersion: '',
  exceptions: [],
  cspSources: [],
}

/** Reads parsed JSON, of which each field may be missing or of any type. */
export type Read = (payload: unknown) => Filterable

/** Reads a payload by the type of its item. */
export const READERS: ReadonlyMap<string, Read> = new Map([
  ['event', readEvent],
  ['feedback', readEvent],
  ['transaction', readTransaction],
  ['replay_event', readEvent],
  ['session', readSession],
  ['sessions', readSession],
  ['span', readSpan],
  ['raw_security', readCspReport],
  ['profile_chunk', (payload) => ({ ...EMPTY, release: releaseOf(object(payload).release) })],
])

/** Relay takes a number for a release, and trims it. */
function releaseOf(release: unknown): string {
  return scalarText(release).trim()
}

/** Reads an event, a replay or feedback. */
function readEvent(payload: unknown): Filterable {
  const event = object(payload)
  const request = object(event.request)
  const headers = headersOf(request.headers)
  return {
    ...EMPTY,
    release: releaseOf(event.release),
    message: readMessage(event.logentry ?? event['sentry.interfaces.Message'] ?? event.message),
    url: text(request.url),
    address: text(object(event.user).ip_address),
    hosts: ['host', 'x-forwarded-host'].flatMap((name) => headers.get(name) ?? []),
    userAgent: headers.get('user-agent') ?? '',
    exceptions: exceptionsIn(event.exception ?? event['sentry.interfaces.Exception'])
      .map(object)
      .map(readException),
  }
}

/** A message is a text, or an object with parameters that may not be formatted yet. */
function readMessage(message: unknown): string {
  if (!isObject(message)) return lenientText(message)
  return text(message.formatted) || formatMessage(text(message.message), message.params)
}

const PRINTF = /%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?(?:[sdifeEgGoxXcrap]|(%))/g
const CURLY = /\{\{|\}\}|\{(\w*)(?:[:!][^{}]*)?\}/g

/** Formats a message as Relay does before it filters (relay-event-normalization/src/logentry.rs): puts parameters, a list or an object, in the place of `%s`, `%(name)s`, `{}`, `{0}` and `{name}`. Returns the message as it is if one is missing. */
function formatMessage(message: string, params: unknown): string {
  if (!Array.isArray(params) && !isObject(params)) return message
  const values = new Map(Object.entries(params))
  let next = 0
  let isMissing = false
  const parameter = (name = ''): string => {
    const value = values.get(name === '' ? String(next++) : name)
    if (value === undefined || value === null) isMissing = true
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  const printed = message.replace(PRINTF, (_, name, percent) => percent ?? parameter(name))
  const formatted =
    printed === message
      ? message.replace(CURLY, (part, name) => (name === undefined ? part.charAt(0) : parameter(name)))
      : printed
  return isMissing ? message : formatted
}

/** Returns a text, or the JSON of another value (`JsonLenientString` in relay-protocol). */
function lenientText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Exceptions and the like are in `values`, in a list, or alone. */
function exceptionsIn(value: unknown): readonly unknown[] {
  if (!isObject(value)) return list(value)
  return 'values' in value ? list(value.values) : [value]
}

function readTransaction(payload: unknown): Filterable {
  const transaction = object(payload)
  const { trace_id, span_id, origin, op } = object(object(transaction.contexts).trace)
  return {
    ...readEvent(payload),
    transaction: text(transaction.transaction),
    origin: text(origin),
    op: text(op),
    spans: list(transaction.spans).length,
    segment: { traceId: text(trace_id), segmentId: text(span_id) },
  }
}

function readException(exception: Json): Exception {
  return {
    type: text(exception.type),
    value: lenientText(exception.value),
    // JavaScript SDKs write `filename` only; Relay takes it for `abs_path` before it filters.
    places: list(object(exception.stacktrace).frames)
      .map(object)
      .map((frame) => text(frame.abs_path) || text(frame.filename)),
  }
}

/** Headers are an object, or a list of pairs. */
function headersOf(headers: unknown): Map<string, string> {
  const pairs = Array.isArray(headers) ? headers : Object.entries(object(headers))
  return new Map(pairs.filter(Array.isArray).map(([name, value]) => [text(name).toLowerCase(), text(value)]))
}

function readSession(payload: unknown): Filterable {
  const { release, user_agent, ip_address } = object(object(payload).attrs)
  return { ...EMPTY, release: releaseOf(release), userAgent: text(user_agent), address: text(ip_address) }
}

/** Reads a CSP report in the form of `report-uri`, which the tunnel writes, or of the Reporting API. */
function readCspReport(payload: unknown): Filterable {
  const report = object(payload)
  const legacy = object(report['csp-report'])
  const body = object(report.body)
  return {
    ...EMPTY,
    cspSources: [
      text(legacy['blocked-uri']) || text(body.blockedURL),
      text(legacy['source-file']) || text(body.sourceFile),
    ],
  }
}

/** Reads a span of the first version, which has an item of its own. */
function readSpan(payload: unknown): Filterable {
  const span = object(payload)
  const data = object(span.data)
  return {
    ...EMPTY,
    transaction:
      text(data['sentry.segment.name']) || text(data['sentry.transaction']) || text(data.transaction),
    origin: text(span.origin),
    op: text(span.op),
    release: releaseOf(data['sentry.release'] || data.release),
    url: text(data['url.full']),
    address: text(data['client.address']),
    userAgent: text(data['user_agent.original']),
    segment: segmentOf(span, text(span.segment_id)),
  }
}

/** Reads an element of a container: a span of the second version, a log or a metric. */
export function readElement(payload: unknown): Filterable {
  const element = object(payload)
  const attributes = object(element.attributes)
  const attribute = (name: string) => text(object(attributes[name]).value)
  return {
    ...EMPTY,
    transaction: attribute('sentry.segment.name'),
    origin: attribute('sentry.origin'),
    op: attribute('sentry.op'),
    release: releaseOf(attribute('sentry.release')),
    userAgent:
      attribute('user_agent.original') || attribute('browser.name') || attribute('sentry.browser.name'),
    browserVersion:
      attribute('user_agent.original') === ''
        ? attribute('browser.version') || attribute('sentry.browser.version')
        : '',
    segment: segmentOf(element, attribute('sentry.segment.id')),
  }
}

function segmentOf({ trace_id, span_id, is_segment }: Json, segmentId: string): Segment {
  return { traceId: text(trace_id), segmentId: is_segment === true ? text(span_id) : segmentId }
}
