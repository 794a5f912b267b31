/** Query of the spool page: filter, order, positions in the lists, and the result of the last action. */

import { type Query, withQuery } from '../routes.ts'

/** `after` holds a position for each spool, `partitions` the offset in the list of projects. */
export type SpoolQuery = Partial<
  Record<'project' | 'category' | 'order' | 'after' | 'partitions' | 'did' | 'count' | 'left', string>
>

export const SPOOL = '/console/spool'

export function readSpoolQuery(query: Query): SpoolQuery {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => typeof value === 'string'))
}

/** Returns the query for a page of entries of one spool. */
export function listQuery(spool: string, { project, category, order, after }: SpoolQuery): URLSearchParams {
  const position = new URLSearchParams(after).get(spool) ?? undefined
  const given = Object.entries({ project, category, order, after: position })
  return new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Returns the path of the next page of one spool. Other spools keep their positions. */
export function nextPath(spool: string, next: string, query: SpoolQuery): string {
  const { project, category, order, after, partitions } = query
  const positions = new URLSearchParams(after)
  positions.set(spool, next)
  return withQuery(SPOOL, { project, category, order, after: positions.toString(), partitions })
}
