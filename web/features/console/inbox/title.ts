/** Title of an envelope in the inbox, and the tabs of the list. The tunnel names envelopes in the list by the same rules. */

import { nameOf, nameOfTypes, TITLE_TYPES } from 'contract/inbox-title'
import { z } from 'zod'
import { cutText, TEXT } from '../bounds.ts'
import type { ParsedItem } from './envelope.ts'

/** Tabs of the list, each of an item type. The first one is the default. */
export const TABS = [
  { type: 'event', name: 'Issues' },
  { type: 'feedback', name: 'Feedback' },
  { type: 'replay_event', name: 'Replays' },
  { type: 'span', name: 'Spans' },
  { type: 'transaction', name: 'Transactions' },
  { type: 'log', name: 'Logs' },
  { type: 'trace_metric', name: 'Metrics' },
  { type: 'session', name: 'Sessions' },
  { type: 'raw_security', name: 'CSP reports' },
  { type: 'client_report', name: 'Client reports' },
  { type: 'all', name: 'All' },
] as const

const json = z.record(z.string(), z.unknown()).catch({})

/** Returns the title. Payloads of which only a part was read are not parsed. */
export function titleOf(items: readonly ParsedItem[], jsonOf: (item: ParsedItem) => unknown): string {
  for (const type of TITLE_TYPES) {
    const item = items.find((each) => each.type === type && each.payload.length === each.bytes)
    if (!item) continue
    const { kind, title } = nameOf(type, json.parse(jsonOf(item)))
    return cutText(title || kind, TEXT.title)
  }
  return cutText(nameOfTypes(items.map(({ type }) => type)).title, TEXT.title)
}
