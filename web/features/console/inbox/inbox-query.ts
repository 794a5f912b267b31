/** Query of the inbox: what its pages select, as in their addresses. */

import type { Query } from '../routes.ts'
import { KINDS } from './title.ts'

export const INBOX = '/console/inbox'

/** Parameters that the admin port reads; absent ones select all. */
const NAMES = ['type', 'group', 'release', 'environment', 'replay', 'search'] as const

export type InboxQuery = { [name in (typeof NAMES)[number]]?: string }

/** Parameters of the search form. */
export const FILTERS = ['search', 'release', 'environment'] as const

const MAX_LENGTH = 200 // characters, as the admin port accepts

export function readInboxQuery(query: Query): InboxQuery {
  const read = NAMES.flatMap((name) => {
    const value = query[name]
    return typeof value === 'string' && value.trim() !== '' ? [[name, value.trim().slice(0, MAX_LENGTH)]] : []
  })
  const known: InboxQuery = Object.fromEntries(read)
  const { type, ...others } = known
  return KINDS.some((kind) => kind.type === type) ? known : others
}
