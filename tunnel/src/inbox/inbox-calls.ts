/** Calls on the inbox from another thread. Their arguments and results are messages. */

import type { SnapshotRow } from '../telemetry/snapshots.ts'
import type { Inbox, NewEntry, PageQuery } from './inbox.ts'

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
    count: () => inbox.count(),
    delete: (id: string) => inbox.delete(id),
    deleteAll: () => inbox.deleteAll(),
    summariseOld: () => inbox.summariseOld(),
    addSnapshots: (rows: readonly SnapshotRow[]) => inbox.snapshots.add(rows),
    readSnapshots: (step: number, from: number) => inbox.snapshots.read(step, from),
    beginOutage: (ms: number) => inbox.write(() => inbox.outage.begin(ms)),
    endOutage: () => inbox.write(() => inbox.outage.end()),
    outageMs: () => inbox.outage.remainingMs(),
    delivered: () => inbox.outage.delivered(),
    countDelivered: () => inbox.write(() => inbox.outage.countDelivered()),
    resetOutage: () => inbox.write(() => inbox.outage.reset()),
  }
}

export type OpenedInbox = { id: string }
