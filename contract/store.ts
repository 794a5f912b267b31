/** Types of the admin API that describe the store's entries: pending ones, dead letters, and kept ones. */

import type { Receipt, SpoolOutcome } from './admin-api.ts'

export const ENTRY_STATES = ['pending', 'declined', 'expired', 'evicted', 'kept'] as const
export type EntryState = (typeof ENTRY_STATES)[number]

/** Entry, as `GET /store/entries` and `GET /spool` list it. Times are in milliseconds since 1970. */
export type StoreEntry = {
  /** The same on every replica that shares the store. */
  id: string
  state: EntryState
  receipt: string
  event_id?: string
  project: string
  /** The envelope is for the mirror of a project. */
  mirror?: true
  category: string
  /** Size of the envelope. */
  bytes: number
  received: number
  /** Next delivery attempt, or the latest end of the current one; absent when it is due, or not pending. */
  due?: number
  /** Delivery attempts, as far as known, and whether one is in progress; absent when it is not pending. */
  attempts?: number
  leased?: boolean
  /** End of its delivery; absent while it is pending. */
  ended?: number
  /** Last time at which it was sent again. */
  resent?: number
  /** Status and body of Sentry's last response, at most 1 KB of it. */
  status?: number
  answer?: string
  /** The envelope is there, and can be sent again. */
  stored: boolean
}

/** Response of `GET /store/entries` and `GET /spool`. */
export type StorePage = {
  /** ID of the store. */
  spool: string
  entries: StoreEntry[]
  /** Value of `after` for the next page; absent on the last one. */
  next?: string
}

/** Spool entry, as `GET /spool/<id>` shows it, without payloads. */
export type SpoolEntryDetails = StoreEntry & {
  spool: string
  header: Readonly<Record<string, unknown>>
  /** First 200 items; `bytes` are those of the payload. */
  items: { header: Readonly<Record<string, unknown>>; bytes: number }[]
  item_count: number
}

/** Response of `DELETE /store/entries`. One call purges some thousands; repeat it until it is 0. */
export type StorePurged = { purged: number }

/** Body of `POST /store/erase`: a value of a field that identifies a user. One call searches a step of the store, which begins at `after`. */
export type EraseRequest = { user: string; dry_run?: boolean; after?: string }

/** Response of `POST /store/erase`: entries that were searched, that name the user, and that were removed. */
export type StoreErased = {
  searched: number
  matched: number
  erased: number
  /** Entries that do not match as far as they could be searched: a part is not JSON, or too large. */
  unread: number
  /** Value of `after` for the next step; absent on the last one. */
  next?: string
}

/** States of the entries that can be sent again. */
export const RESENDABLE_STATES = ['declined', 'expired', 'kept'] as const
export type ResendableState = (typeof RESENDABLE_STATES)[number]

/** Body of `POST /store/resend`: the entries that match all members. Either `id`, or `state` and more. Times are those of the end. */
export type ResendRequest = {
  id?: string
  state?: ResendableState
  /** DSN, or `host/project`. */
  project?: string
  event_id?: string
  from?: number
  to?: number
  limit?: number
  dry_run?: boolean
}

/** Response of `POST /store/resend`: the entries that are sent again, and the bytes of their envelopes. */
export type ResendStarted = {
  entries: number
  bytes: number
  /** Entries that match too, and are left out since they were sent again within the last hour. */
  skipped: number
  /** Entries that match too, and are left out since their project is not configured. */
  undeliverable: number
}

/** Response of `GET /store/resend` and `DELETE /store/resend`: the last job. Times are in milliseconds since 1970. */
export type ResendJob = {
  state?: ResendableState
  from?: number
  to?: number
  project?: string
  event_id?: string
  started: number
  /** Entries that matched at the start, and the bytes of their envelopes. */
  entries: number
  bytes: number
  /** Entries that have become pending since, and the bytes of their envelopes. The server may have declined them again. */
  sent: number
  bytes_sent: number
  /** Rate of the last seconds. */
  per_second: number
  /** Reason why it makes no progress at the moment. */
  waiting?: string
  /** Time at which an operator stopped it, or at which it was done. */
  stopped?: number
  finished?: number
}

/** Response of `GET /store/resend`; empty when there was no job. */
export type ResendStatus = { job?: ResendJob }

/** Response of `GET /store/events/<event_id>`. */
export type StoreEvent = {
  event_id: string
  /** Receipts of this replica, newest first. */
  receipts: Receipt[]
  /** Final outcomes that this replica has recorded, newest first. */
  final_outcomes: SpoolOutcome[]
  /** Entries of the shared store. */
  entries: StoreEntry[]
  /** Time of the oldest receipt that this replica still has, in milliseconds since 1970. */
  receipts_since: number
}
