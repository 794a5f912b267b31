/** Summary of an envelope for the list of the inbox: title, group, and the fields that can be searched. */

import { maxValues } from '../envelope/header-parser.ts'
import type { Item } from '../envelope/items.ts'
import { cut } from '../envelope/summary.ts'
import { groupId, groupOfEvent, messageOf, patternOf, valuesOf } from './grouping.ts'
import { type Json, list, object, text } from './json.ts'

/** Absent texts are empty. */
export type Summary = {
  group: string
  kind: string
  title: string
  isError: boolean
  release: string
  environment: string
  /** ID of the replay that the envelope is a segment of, or during which its error was raised. */
  replay: string
  /** Number of the segment, for segments of a replay. */
  segment: number | null
  /** Time of the event in milliseconds since 1970. */
  raised: number | null
  /** Distinguishes users, for their number. */
  user: string
  /** Text that a search looks through, in lower case. */
  search: string
}

/** Larger payloads are not parsed. Events of SDKs are smaller, and parsing one of these takes a few milliseconds. */
const MAX_BYTES = 256 * 1024
const MAX_VALUES = 20_000

const LENGTH = { title: 300, name: 200, environment: 64, id: 36, url: 500 } // of texts, in characters

const MAX_TIME = 8.64e15 // of a Date

/** Item types whose payload gives a title, the most informative first. */
const TITLE_TYPES = [
  'event',
  'feedback',
  'transaction',
  'span',
  'replay_event',
  'log',
  'trace_metric',
  'session',
  'raw_security',
]

const MAX_TYPES = 100

/** Name of an envelope. Without `group`, its group has no other envelope. */
type Name = { kind: string; title: string; isError?: boolean; group?: string }

/** Labels of the envelope that a search finds. */
type Ids = { id: string; event_id: string | null }

/** Summarises an envelope. Neither the types of its items nor their payloads are trusted. */
export function summarise(ids: Ids, items: readonly Item[], envelope: Buffer): Summary {
  for (const type of TITLE_TYPES) {
    const item = items.find((each) => each.type === type)
    const payload = item && readPayload(item, envelope)
    if (payload === 'too large') return summaryOf(ids, nameOfUnread(type), {})
    if (payload) return summaryOf(ids, nameOf(type, payload), payload)
  }
  const types = items.map((item) => item.type)
  return summaryOf(ids, nameOfTypes(types), {})
}

/** Names an envelope whose payload is not parsed. An event is most likely an error. */
function nameOfUnread(type: string): Name {
  const isError = type === 'event'
  return { kind: isError ? 'error' : type, title: `${type}, too large to read`, isError }
}

/** Names an envelope by its item types alone. */
function nameOfTypes(types: readonly string[]): Name {
  const [first = 'empty'] = types
  const counts = [...Map.groupBy(types.slice(0, MAX_TYPES), (type) => cut(type))]
  const title = counts.map(([type, all]) => (all.length > 1 ? `${type} ×${all.length}` : type)).join(', ')
  return { kind: first, title: title || 'no items', group: groupId([first]) }
}

function summaryOf(ids: Ids, { kind, title, isError = false, group }: Name, json: Json): Summary {
  const user = object(json.user)
  const segment = json.segment_id
  const url = text(object(json.request).url) || text(list(json.urls)[0])
  const attributes = object(json.attrs) // of a session
  const found = {
    release: cut(text(json.release) || text(attributes.release), LENGTH.name),
    environment: cut(text(json.environment) || text(attributes.environment), LENGTH.environment),
    title: cut(title || kind, LENGTH.title),
    kind: cut(kind),
    replay: cut(replayOf(json), LENGTH.id),
  }
  const labels = [ids.id, ids.event_id ?? '', text(json.event_id), traceOf(json)]
  const searched = [...Object.values(found), cut(url, LENGTH.url), ...labels.map((each) => cut(each))]
  return {
    ...found,
    isError,
    group: group ?? groupId([ids.id]),
    segment: kind === 'replay' && Number.isSafeInteger(segment) ? Number(segment) : null,
    raised: timeOf(json.timestamp),
    user: cut(text(user.id) || text(user.email) || text(user.username) || text(user.ip_address), LENGTH.name),
    search: searched.join('\n').toLowerCase(),
  }
}

function nameOf(type: string, json: Json): Name {
  switch (type) {
    case 'event':
      return nameOfEvent(json)
    case 'feedback':
      return { kind: type, title: text(object(object(json.contexts).feedback).message) || messageOf(json) }
    case 'transaction':
      return nameBy('trace', text(json.transaction))
    case 'replay_event': {
      const url = text(list(json.urls)[0])
      const title = `Segment ${text(json.segment_id) || 0}${url && ` on ${url}`}`
      return { kind: 'replay', title, group: groupId(['replay', text(json.replay_id)]) }
    }
    case 'session':
      return nameBy(type, `${text(json.status) || 'unknown status'}, ${countOf(json.errors, 'error')}`)
    case 'raw_security':
      return nameOfCspReport(object(json['csp-report']), object(json.body))
    case 'span':
      return nameOfSpans(list(json.items).slice(0, 1_000).map(object), list(json.items).length)
    case 'log':
      return nameBy(type, text(object(list(json.items)[0]).body))
    default:
      return nameBy('metrics', text(object(list(json.items)[0]).name))
  }
}

function nameOfEvent(event: Json): Name {
  const raised = valuesOf(event.exception).at(-1)
  const isError = raised !== undefined || ['error', 'fatal'].includes(text(event.level))
  const title = raised
    ? [text(raised.type), text(raised.value)].filter(Boolean).join(': ') || 'an exception without a name'
    : messageOf(event) || text(event.transaction) || text(event.event_id)
  return { kind: isError ? 'error' : 'message', title, isError, group: groupOfEvent(event) }
}

/** Names a report in the form of `report-uri` (`legacy`), or in that of the Reporting API (`body`). */
function nameOfCspReport(legacy: Json, body: Json): Name {
  const effect = [legacy.disposition, body.disposition].includes('report') ? 'Reported' : 'Blocked'
  const directives = [legacy['effective-directive'], legacy['violated-directive'], body.effectiveDirective]
  const directive = directives.map(text).find(Boolean) ?? 'a directive'
  const blocked = text(legacy['blocked-uri']) || text(body.blockedURL) || 'unknown'
  return nameBy('violation', `${effect} by ${directive}: ${blocked}`)
}

function nameOfSpans(spans: readonly Json[], count: number): Name {
  const segment = spans.find((span) => span.is_segment === true) ?? spans[0]
  const { title, ...name } = nameBy('trace', text(segment?.name) || 'spans')
  return { ...name, title: count > 1 ? `${title}, ${countOf(count, 'span')}` : title }
}

/** Groups by kind and title. */
function nameBy(kind: string, title: string): Name {
  return { kind, title, group: groupId([kind, patternOf(title)]) }
}

function countOf(count: unknown, one: string): string {
  return `${Number(count) || 0} ${Number(count) === 1 ? one : `${one}s`}`
}

function replayOf({ replay_id: own, tags, contexts }: Json): string {
  const { replay, feedback } = object(contexts)
  return (
    text(own) ||
    text(object(tags).replayId) ||
    text(object(replay).replay_id) ||
    text(object(feedback).replay_id)
  )
}

function traceOf({ contexts }: Json): string {
  return text(object(object(contexts).trace).trace_id)
}

/** Reads seconds since 1970, or a date. */
function timeOf(given: unknown): number | null {
  const time = typeof given === 'number' ? given * 1000 : Date.parse(text(given))
  return time >= 0 && time <= MAX_TIME ? Math.floor(time) : null
}

/** Returns `undefined` for a payload that is no JSON. */
function readPayload({ range: [start, end], bytes }: Item, envelope: Buffer): Json | 'too large' | undefined {
  if (bytes > MAX_BYTES) return 'too large'
  const payload = payloadOf(envelope.subarray(start, end), bytes)
  if (maxValues(payload) > MAX_VALUES) return 'too large'
  try {
    return object(JSON.parse(payload.toString('utf8')))
  } catch {
    return undefined
  }
}

/** Returns the payload of an item, which follows the line of its header. */
function payloadOf(item: Buffer, bytes: number): Buffer {
  const header = item.findIndex((byte) => byte > 0x20) // after blank space
  const line = item.indexOf(0x0a, Math.max(0, header))
  return line < 0 ? Buffer.alloc(0) : item.subarray(line + 1, line + 1 + bytes)
}
