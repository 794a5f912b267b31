/** Query of a tunnel URL, which names a project. */

import { Rejection } from 'contract/rejections'
import type { PostedQuery, Project, Projects } from '../pipeline/projects.ts'

const NO_QUERY: PostedQuery = {}
const QUERY_SHAPES = { p: /^(0|[1-9][0-9]{0,19})$/, o: /^(0|[1-9][0-9]{0,19})$/, r: /^[a-z]{1,16}$/ }
const NUMBER = 'a number of up to 20 digits without leading zeros'
const EXPECTED = { p: NUMBER, o: NUMBER, r: 'up to 16 lower-case letters' }

/**
 * Reads `p`, `o` and `r` from the query of a request target and ignores other parameters. Throws a `Rejection` for duplicates and for
 * spellings that another reader may take differently: escapes, leading zeros, digits of other scripts.
 */
export function readQuery(target: string): PostedQuery {
  const mark = target.indexOf('?')
  if (mark < 0 || mark === target.length - 1) return NO_QUERY
  const query: PostedQuery = {}
  for (const pair of target.slice(mark + 1).split('&')) readPair(query, pair)
  return query
}

function readPair(query: PostedQuery, pair: string): void {
  const equals = pair.indexOf('=')
  const name = equals < 0 ? pair : pair.slice(0, equals)
  if (/[%+]/.test(name)) throw new Rejection('query-malformed', 'A parameter name contains % or +.')
  if (name !== 'p' && name !== 'o' && name !== 'r') return
  const value = equals < 0 ? '' : pair.slice(equals + 1)
  if (query[name] !== undefined) throw new Rejection('query-malformed', `It contains ${name} more than once.`)
  if (!QUERY_SHAPES[name].test(value))
    throw new Rejection('query-malformed', `The value of ${name} must be ${EXPECTED[name]}.`)
  query[name] = value
}

/** Returns the project that the query names, by default the first. An organisation or region alone names none. */
export function findProject(target: string, projects: Projects): Project | undefined {
  const query = readQuery(target)
  const isGuess = query.p === undefined && (query.o !== undefined || query.r !== undefined)
  return isGuess ? undefined : projects.find(query)
}
