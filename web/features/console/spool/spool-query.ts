/** Query of the spool page: state, filter, order, positions in the lists, and the result of the last action. */

import type { EntryState, ResendRequest } from 'contract/store'
import { type Query, withQuery } from '../routes.ts'

/**
 * `state` selects entries that are not pending, and `from` and `to` the times of their end. `after` is the `next` of the page before,
 * `partitions` the offset in the list of projects.
 */
export type SpoolQuery = Partial<
  Record<
    | 'state'
    | 'project'
    | 'category'
    | 'from'
    | 'to'
    | 'order'
    | 'after'
    | 'partitions'
    | 'did'
    | 'count'
    | 'left',
    string
  >
>

export type EndedSelection = Pick<SpoolQuery, 'state' | 'project' | 'from' | 'to'>

export type EndedState = Exclude<EntryState, 'pending'>

/** States of the entries, each with its label. */
export const STATE_LABELS: Readonly<Record<EntryState, string>> = {
  ...{ pending: 'Pending', declined: 'Declined', expired: 'Expired', evicted: 'Evicted', kept: 'Kept' },
}

/** Sentence of the tunnel on the problem of a query. */
export type WrongQuery = { detail: string }

export const SPOOL = '/console/spool'

const SHOWN = 50 // entries on a page

export function readSpoolQuery(query: Query): SpoolQuery {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => typeof value === 'string' && value))
}

/** Returns the state that the page shows. */
export function stateOf({ state }: SpoolQuery): EntryState {
  return isEnded(state) ? state : 'pending'
}

/** Reports whether entries with this outcome stay in the store. */
export function isEnded(state: string | undefined): state is EndedState {
  return state !== undefined && state !== 'pending' && Object.hasOwn(STATE_LABELS, state)
}

/** Returns the parameters that select the list of entries in a state. */
export function selectionOf({ state, project, from, to }: SpoolQuery): EndedSelection {
  return {
    ...(state !== undefined && { state }),
    ...(project !== undefined && { project }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
}

/** Returns the query for a page of entries. */
export function entriesQuery(query: SpoolQuery): URLSearchParams {
  const { project, category, order, after } = query
  const state = stateOf(query)
  const [from, to] = [readTime(query.from), readTime(query.to)].map((time) => time?.toString())
  const filter = state === 'pending' ? { category, order } : { from, to }
  return givenOf({ state, project, ...filter, after, limit: `${SHOWN}` })
}

/** Returns the request that sends all entries of the list again; `undefined` when they are pending, or their content is gone. */
export function resendRequest(query: SpoolQuery): ResendRequest | undefined {
  const state = stateOf(query)
  if (state === 'pending' || state === 'evicted') return undefined
  const { project } = query
  const [from, to] = [readTime(query.from), readTime(query.to)]
  return {
    state,
    ...(project !== undefined && { project }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
}

/** Reads a time in milliseconds since 1970, or one of the filter form without scripts, which is in UTC. */
export function readTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(`${text}Z`)
  return Number.isNaN(time) ? undefined : time
}

/** Returns the path of the next page. */
export function nextPath(next: string, query: SpoolQuery): string {
  const { state, project, category, from, to, order, partitions } = query
  const filter = { state, project, category, from, to, order }
  return withQuery(SPOOL, { ...filter, after: next, partitions })
}

function givenOf(parameters: Record<string, string | undefined>): URLSearchParams {
  const given = Object.entries(parameters)
  return new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== undefined))
}
