/** Kind and title of an envelope in the inbox, for its list in the tunnel and its page in web. */

import { messageOf, valuesOf } from './event-fields.ts'
import { type Json, list, object, scalarText as text } from './json.ts'

/** Item types whose payload gives a title, the most informative first. */
export const TITLE_TYPES = [
  'event',
  'feedback',
  'transaction',
  'span',
  'replay_event',
  'log',
  'trace_metric',
  'session',
  'raw_security',
] as const
export type TitleType = (typeof TITLE_TYPES)[number]

/** Titles are not cut. Envelopes of one kind and `subject` belong together; without one, other fields decide. */
export type Name = { kind: string; title: string; isError?: boolean; subject?: string }

/** Effects of a policy by `disposition`. WebKit does not say which of them a violation had. */
const EFFECTS: ReadonlyMap<string, string> = new Map([
  ['enforce', 'Blocked by'],
  ['report', 'Reported by'],
])

const MAX_TYPES = 100
const MAX_SPANS = 1_000

/** Names an envelope by the payload of its most informative item. */
export function nameOf(type: TitleType, json: Json): Name {
  switch (type) {
    case 'event':
      return nameOfEvent(json)
    case 'feedback':
      return { kind: type, title: text(object(object(json.contexts).feedback).message) || messageOf(json) }
    case 'transaction':
      return nameBy('trace', text(json.transaction))
    case 'replay_event': {
      const url = text(list(json.urls)[0])
      return { kind: 'replay', title: `Segment ${text(json.segment_id) || 0}${url && ` on ${url}`}` }
    }
    case 'session':
      return nameBy(type, `${text(json.status) || 'unknown status'}, ${countOf(json.errors, 'error')}`)
    case 'raw_security':
      return nameOfCspReport(object(json['csp-report']), object(json.body))
    case 'span':
      return nameOfSpans(list(json.items).slice(0, MAX_SPANS).map(object), list(json.items).length)
    case 'log':
      return nameBy(type, text(object(list(json.items)[0]).body))
    case 'trace_metric':
      return nameBy('metrics', text(object(list(json.items)[0]).name))
  }
}

/** Names an envelope whose payload is not parsed. An event is most likely an error. */
export function nameOfUnread(type: TitleType): Name {
  const isError = type === 'event'
  return { kind: isError ? 'error' : type, title: `${type}, too large to read`, isError }
}

/** Names an envelope by its item types alone. */
export function nameOfTypes(types: readonly string[]): Name {
  const counts = [...Map.groupBy(types.slice(0, MAX_TYPES), (type) => type.slice(0, 64))]
  const title = counts.map(([type, all]) => (all.length > 1 ? `${type} ×${all.length}` : type)).join(', ')
  return { kind: types[0] ?? 'empty', title: title || 'no items' }
}

function nameOfEvent(event: Json): Name {
  const raised = valuesOf(event.exception).at(-1)
  const isError = raised !== undefined || ['error', 'fatal'].includes(text(event.level))
  const title = raised
    ? [text(raised.type), text(raised.value)].filter(Boolean).join(': ') || 'an exception without a name'
    : messageOf(event) || text(event.transaction) || text(event.event_id)
  return { kind: isError ? 'error' : 'message', title, isError }
}

/** Names a report in the form of `report-uri` (`legacy`), or in that of the Reporting API (`body`). */
function nameOfCspReport(legacy: Json, body: Json): Name {
  const disposition = text(legacy.disposition) || text(body.disposition)
  const directives = [legacy['effective-directive'], legacy['violated-directive'], body.effectiveDirective]
  const directive = directives.map(text).find(Boolean) ?? 'a directive'
  const blocked = text(legacy['blocked-uri']) || text(body.blockedURL) || 'unknown'
  return nameBy('violation', `${EFFECTS.get(disposition) ?? 'Violated'} ${directive}: ${blocked}`)
}

function nameOfSpans(spans: readonly Json[], count: number): Name {
  const segment = spans.find((span) => span.is_segment === true) ?? spans[0]
  const subject = text(segment?.name) || 'spans'
  const title = count > 1 ? `${subject}, ${countOf(count, 'span')}` : subject
  return { ...nameBy('trace', subject), title }
}

function nameBy(kind: string, title: string): Name {
  return { kind, title, subject: title }
}

function countOf(count: unknown, one: string): string {
  return `${Number(count) || 0} ${Number(count) === 1 ? one : `${one}s`}`
}
