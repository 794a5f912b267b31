/** Calls on the inbox from another thread. Their arguments and results are messages. */

import type { Inbox, NewEntry, PageQuery } from './inbox.ts'
import type { Span } from './simulated-outage.ts'

export type InboxCalls = ReturnType<typeof inboxCalls>

export function inboxCalls(inbox: Inbox) {
  return {
    /** The envelope is an argument of its own, which is transferred. */
    keep(entry: Omit<NewEntry, 'envelope'>, network: string, envelope: Uint8Array): void {
      inbox.keep({ ...entry, envelope }, network)
    },
    list: (limit: number, query: PageQuery) => inbox.list(limit, query),
    groups: (limit: number, query: PageQuery) => inbox.groups(limit, query),
    read: (id: string, first?: number) => inbox.read(id, first),
    size: (id: string) => inbox.size(id),
    count: (span?: Span) => inbox.count(span),
    delete: (id: string) => inbox.delete(id),
    deleteAll: () => inbox.deleteAll(),
    summariseOld: () => inbox.summariseOld(),
  }
}

export type OpenedInbox = { id: string }
