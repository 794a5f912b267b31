/** Query of the inbox: the selection in the addresses of its pages. */

import type { Range } from '../figures/range.ts'
import type { Query } from '../routes.ts'
import { TABS } from './title.ts'

/** Spans of time, as the admin port reads them. */
export type Steps = { from: string; step: string; steps: string }

export const INBOX = '/console/inbox'

/** Parameters that the admin port reads; absent ones select all, as the type `all` does. */
const NAMES = ['type', 'group', 'release', 'environment', 'replay', 'search'] as const

export type InboxQuery = { [name in (typeof NAMES)[number]]?: string }

/** Query of a page, which is always on a tab. */
export type PageQuery = InboxQuery & { type: string }

/** Parameters of the search form. */
export const FILTERS = ['search', 'release', 'environment'] as const

const MAX_LENGTH = 200 // characters, as the admin port accepts

export function readInboxQuery(query: Query): PageQuery {
  const read = NAMES.flatMap((name) => {
    const value = query[name]
    return typeof value === 'string' && value.trim() !== '' ? [[name, value.trim().slice(0, MAX_LENGTH)]] : []
  })
  const known: InboxQuery = Object.fromEntries(read)
  const isOfAnyType = [known.group, known.replay, known.search].some((value) => value !== undefined)
  const tab = TABS.find(({ type }) => type === known.type)?.type ?? (isOfAnyType ? 'all' : TABS[0].type)
  return { ...known, type: tab }
}

/** Returns the query of the list that an envelope was opened from, with its page. */
export function readListQuery(query: Query): Query {
  return Object.fromEntries([...NAMES, 'after'].map((name) => [name, query[name]]))
}

const HOUR_MS = 3_600_000

/** Spans of a sparkline. */
export const DAY = { ms: 24 * HOUR_MS, stepMs: HOUR_MS }

/** Returns the spans of the last time, of which the last one is in progress. */
export function stepsUntil(now: number, { ms, stepMs }: Pick<Range, 'ms' | 'stepMs'>): Steps {
  const from = (Math.floor(now / stepMs) + 1) * stepMs - ms
  return { from: `${from}`, step: `${stepMs}`, steps: `${ms / stepMs}` }
}
