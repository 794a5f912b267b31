/** The identifiers in a tunnel's query: `p` project, `o` organisation, `r` region. */

import type { PostedQuery } from '../projects.ts'
import { Rejection } from '../rejections.ts'

const NOTHING: PostedQuery = {}
const SHAPES = { p: /^(0|[1-9][0-9]{0,19})$/, o: /^(0|[1-9][0-9]{0,19})$/, r: /^[a-z]{1,16}$/ }

/**
 * Reads the query of a request target. Each of the three may stand once, in plain digits or letters: what an encoder could write in
 * two ways (escapes, leading zeros, other scripts' digits) is refused with a `Rejection`, since another reader might take it otherwise.
 * Other parameters are passed over.
 */
export function readQuery(target: string): PostedQuery {
  const mark = target.indexOf('?')
  if (mark < 0 || mark === target.length - 1) return NOTHING
  const query: PostedQuery = {}
  for (const pair of target.slice(mark + 1).split('&')) readPair(query, pair)
  return query
}

function readPair(query: PostedQuery, pair: string): void {
  const equals = pair.indexOf('=')
  const name = equals < 0 ? pair : pair.slice(0, equals)
  if (/[%+]/.test(name)) throw new Rejection('query-malformed', 'It has an escape in a name.')
  if (name !== 'p' && name !== 'o' && name !== 'r') return
  const value = equals < 0 ? '' : pair.slice(equals + 1)
  if (query[name] !== undefined) throw new Rejection('query-malformed', `It has ${name} more than once.`)
  if (!SHAPES[name].test(value)) throw new Rejection('query-malformed', `Its ${name} is not plain.`)
  query[name] = value
}
