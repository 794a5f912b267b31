/** Kind and title of an envelope in the inbox. */

import { z } from 'zod'
import { formatQuantity } from '../../../lib/format.ts'
import { cutText, TEXT } from '../bounds.ts'
import { readLogs, readMetrics, readSpans } from './batch-items.ts'
import { readCspReport } from './csp-report.ts'
import { type ParsedItem, parseJson } from './envelope.ts'
import { formatReadCount, readEvent, titleOf } from './event.ts'

export type Name = { kind: string; title: string; isError: boolean }

/** Filters of the list, each by an item type. */
export const KINDS = [
  { type: 'event', name: 'Errors' },
  { type: 'feedback', name: 'Feedback' },
  { type: 'span', name: 'Spans' },
  { type: 'transaction', name: 'Transactions' },
  { type: 'replay_event', name: 'Replays' },
  { type: 'log', name: 'Logs' },
  { type: 'client_report', name: 'Client reports' },
  { type: 'raw_security', name: 'CSP violations' },
] as const

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

export function nameOf(
  items: readonly ParsedItem[],
  jsonOf: (item: ParsedItem) => unknown = ({ payload }) => parseJson(payload.toString('utf8')),
): Name {
  for (const type of TITLE_TYPES) {
    const item = items.find((each) => each.type === type && each.payload.length === each.bytes)
    if (item) return cutName(nameOfItem(type, jsonOf(item)))
  }
  return nameOfTypes(items.map(({ type }) => type))
}

function cutName({ kind, title, isError }: Name): Name {
  return { kind, title: cutText(title, TEXT.title), isError }
}

/** Names an envelope by its item types alone. */
function nameOfTypes(types: readonly string[]): Name {
  const counts = Map.groupBy(types, (type) => type)
  const title = [...counts]
    .map(([type, all]) => (all.length > 1 ? `${type} ×${all.length}` : type))
    .join(', ')
  return cutName({ kind: types[0] ?? 'empty', title: title || 'no items', isError: false })
}

const replay = z.object({
  segment_id: z.number().optional().catch(undefined),
  urls: z.array(z.string()).catch([]),
})
const session = z.object({ status: z.string().catch('unknown status'), errors: z.number().catch(0) })

function nameOfItem(type: string, payload: unknown): Name {
  const calm = (kind: string, title: string | undefined) => ({ kind, title: title || kind, isError: false })
  switch (type) {
    case 'span': {
      const spans = readSpans(payload)
      const named = spans.find(({ isSegment }) => isSegment) ?? spans[0]
      return calm(
        'trace',
        `${named?.description ?? 'spans'}${spans.length > 1 ? `, ${formatReadCount(spans, 'span')}` : ''}`,
      )
    }
    case 'log':
      return calm('log', readLogs(payload)[0]?.body)
    case 'raw_security':
      return calm('violation', readCspReport(payload)?.title)
    case 'trace_metric':
      return calm('metrics', readMetrics(payload)[0]?.name)
    case 'replay_event': {
      const { segment_id: segment = 0, urls } = replay.catch({ segment_id: 0, urls: [] }).parse(payload)
      return calm('replay', `Segment ${segment}${urls[0] ? ` on ${urls[0]}` : ''}`)
    }
    case 'session': {
      const { status, errors } = session.catch({ status: 'unknown status', errors: 0 }).parse(payload)
      return calm('session', `${status}, ${formatQuantity(errors, 'error')}`)
    }
    default: {
      const event = readEvent(payload)
      if (!event) return calm(type, undefined)
      const title = titleOf(event)
      if (type !== 'event') return calm(type === 'transaction' ? 'trace' : type, title)
      const isError = event.exception.length > 0 || event.level === 'error' || event.level === 'fatal'
      return { kind: isError ? 'error' : 'message', title, isError }
    }
  }
}
