/** Events of a recorded page, from untrusted JSON, without elements that load, navigate or run scripts. */

import { MAX_EVENTS, type Problem } from './messages.ts'

/** Event of rrweb; `data` depends on the type. */
export type RecordedEvent = { type: number; data: object; timestamp: number }

export type Recording = { events: RecordedEvent[] } | { problem: Problem }

const FULL_SNAPSHOT = 2
/** DOM loaded, page loaded, full snapshot, change, size of the page. Others are notes of plugins and SDKs. */
const TYPES = [0, 1, FULL_SNAPSHOT, 3, 4]

/** Elements that load, run, navigate or frame something. */
const UNSAFE =
  /^(?:script|meta|base|object|embed|applet|i?frame|frameset|fencedframe|portal|link|audio|video|source|track)$/i

const HARMLESS = 'rr-removed'

/** Reads segments of JSON in their order. They must begin with a snapshot of the whole page. */
export function readRecording(segments: readonly string[]): Recording {
  const events: RecordedEvent[] = []
  for (const segment of segments) {
    const read = readSegment(segment)
    if (!read) return { problem: 'unreadable' }
    for (const event of read) if (isEvent(event)) events.push(event)
    if (events.length > MAX_EVENTS) return { problem: 'too-large' }
  }
  if (events.length === 0) return { problem: 'unreadable' }
  events.sort((a, b) => a.timestamp - b.timestamp)
  const first = events.findIndex(({ type }) => type === FULL_SNAPSHOT)
  if (first < 0 || events.length < 2) return { problem: 'no-snapshot' }
  const size = events.slice(0, first).findLast(({ type }) => type === 4)
  const played = [...(size ? [size] : []), ...events.slice(first)]
  for (const { data } of played) defuse(data)
  return { events: played }
}

function readSegment(text: string): unknown[] | undefined {
  try {
    const events: unknown = JSON.parse(text)
    return Array.isArray(events) ? events : undefined
  } catch {
    return undefined
  }
}

function isEvent(value: unknown): value is RecordedEvent {
  const { type, data, timestamp }: Record<string, unknown> = Object(value)
  return (
    TYPES.includes(Number(type)) &&
    typeof data === 'object' &&
    data !== null &&
    typeof timestamp === 'number' &&
    timestamp > 0
  )
}

/** Replaces unsafe elements wherever they occur, at any depth. Stylesheets that the recording contains become `style`. */
function defuse(data: object): void {
  const pending: object[] = [data]
  for (let next = pending.pop(); next; next = pending.pop()) {
    if ('tagName' in next) defuseElement(next)
    for (const member of Object.values(next))
      if (typeof member === 'object' && member !== null) pending.push(member)
  }
}

function defuseElement(element: { tagName: unknown; attributes?: unknown }): void {
  const { tagName } = element
  const attributes: Record<string, unknown> = Object(element.attributes)
  const isInlined = tagName === 'link' && typeof attributes._cssText === 'string'
  if (isInlined) element.tagName = 'style'
  else if (typeof tagName !== 'string' || UNSAFE.test(tagName)) element.tagName = HARMLESS
}
