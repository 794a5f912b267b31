/** Title of an envelope in the inbox, and the filters of the list. The tunnel names envelopes in the list by the same rules. */

import { nameOf, nameOfTypes, TITLE_TYPES } from 'contract/inbox-title'
import { z } from 'zod'
import { cutText, TEXT } from '../bounds.ts'
import type { ParsedItem } from './envelope.ts'

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
