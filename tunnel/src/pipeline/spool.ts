/** Interface of a store: envelopes on disk, pending ones and those whose delivery has ended. */

import type { Readable } from 'node:stream'
import type { FinalOutcome, FinalOutcomeReason } from 'contract/admin-api'
import type { InboxGroups, InboxPage } from 'contract/inbox'
import type { SharedState } from './shared-state.ts'

/** Envelope stored for later delivery, without its body. */
export type SpoolEntry = {
  /** Identity: the first 16 bytes of SHA-256 over upstream and body, in hex. */
  key: string
  /** DSN without a secret. */
  project: string
  /** Data category of the most important item; empty for none. */
  category: string
  /** 0 is delivered first and evicted last. */
  priority: number
  /** Network of the client address, for its share; empty when unknown. */
  network: string
  /** Time of arrival in milliseconds since 1970. */
  received: number
  /** Size of the body, which is stored decompressed. */
  bytes: number
  /** ID of the receipt. */
  receipt: string
  /** Event of the envelope, if it has one. Entries of the previous release have none. */
  eventId?: string | undefined
  /** Time at which an operator sent it again, in milliseconds since 1970. A pending entry expires as if it had arrived then. */
  resent?: number | undefined
  /** File or object that holds the body, where a store keeps it in one. */
  file?: string | undefined
  /** Headers of the request to Sentry, names and values in turn. */
  headers: string[]
  /** The put was rejected, but the server had stored the entry: it is delivered, and has no final outcome, since its sender got 503. */
  isRejected?: true
}

/**
 * Reference to an entry: its number in the store, which may be used again later, and its unique key. `place` is its position when it was
 * listed, which postponing may change.
 */
export type EntryRef = { id: number; key: string; place?: number }

/** Entry that one replica holds until `until`, in milliseconds since 1970. */
export type Lease = SpoolEntry & EntryRef & { attempts: number; until: number }

/** Entry as operators see it. */
export type ListedEntry = SpoolEntry &
  EntryRef & {
    place: number
    /** Delivery attempts, as far as they are known. */
    attempts: number
    /** Time of the next attempt in milliseconds since 1970; absent when it is due. */
    due?: number
    /** A replica holds a lease. */
    leased: boolean
  }

/** Selects the entries that match all given members. */
export type EntryFilter = {
  entry?: EntryRef
  /** DSNs, without a secret. */
  projects?: readonly string[]
  category?: string
}

/** Selects a page of entries, in the order in which they became pending. `from` and `to` are such times. */
export type PageQuery = Omit<EntryFilter, 'entry'> & {
  eventId?: string
  from?: number
  to?: number
  order: 'newest' | 'oldest'
  limit: number
  /** Position of the last entry of the previous page. */
  after?: Position
}

/** Selects one entry: a page with it, or an empty one when it is gone. */
export type EntryQuery = { entry: EntryRef }

/** `received` is the time at which the entry became pending: that of a resend, or its arrival. */
export type Position = { received: number; place: number }

/** Pause of the delivery of one project, or of all projects. */
export type Pause = { project?: string; since: number }

export type PutResult =
  /** Synced to disk. `evicted` are the entries that made room. */
  | { kind: 'stored'; lease: Lease; evicted: SpoolEntry[] }
  /** The spool has the same body for the same upstream. */
  | { kind: 'known' }
  /** No less important entry could make room, or a share is used up. */
  | { kind: 'full'; reason: 'bound' | 'address-share' | 'project-share' }

/** Project whose entries are wanted, except for some categories. */
export type ProjectDemand = { project: string; rateLimitedCategories: readonly string[] }

/** Body to store: it can be read repeatedly. `file` holds it already, if set. */
export type SpoolBody = { chunks: () => Iterable<Buffer> | AsyncIterable<Buffer>; file?: string | undefined }

/** Stored body: its bytes, or a function that opens a stream of them. */
export type StoredBody = Buffer | { open: () => Readable }

/** State of an entry whose delivery has ended. Of an evicted one, only the line stays. */
export const ENDED_STATES = ['declined', 'expired', 'evicted', 'kept'] as const
export type EndedState = (typeof ENDED_STATES)[number]

/** End of a delivery after which the entry stays. `status` and `answer` are those of the last response, at most 1 KB of it. */
export type Ending = {
  state: 'declined' | 'kept'
  status?: number | undefined
  answer?: string | undefined
}

/** Entry that is not pending. `resent` is the last time at which it was sent again. */
export type EndedEntry = SpoolEntry &
  EntryRef & {
    state: EndedState
    /** End of the delivery in milliseconds since 1970; of a kept entry, the time at which Sentry or the inbox accepted it. */
    ended: number
    status?: number | undefined
    answer?: string | undefined
    /** The body is there. */
    isStored: boolean
  }

/** Selects the entries that match all given members. `from` and `to` are times of their end, both included. */
export type EndedFilter = {
  entry?: EntryRef
  states?: readonly EndedState[]
  projects?: readonly string[]
  eventId?: string
  from?: number
  to?: number
  /** Leaves out entries that were resent at or after this time. */
  notResentSince?: number
}

/** Page of entries, the last one that ended first. `after` is the last entry of the previous page. */
export type EndedPage = { limit: number; after?: EndedPlace }

/** Position of an entry in the order in which they ended. */
export type EndedPlace = { ended: number; id: number }

/** Number of entries, bytes of their bodies, and their projects. */
export type EndedCount = { entries: number; bytes: number; projects: string[] }

/** Result of one step of a resend. */
export type Resent = {
  /** Entries that have become pending. */
  entries: SpoolEntry[]
  /** No other entry matches. */
  isOver: boolean
  /** Place at which the next step begins; absent when nothing was found. */
  after?: EndedPlace
}

/**
 * Entries that are not pending. Dead letters (`declined`, `expired`, `evicted`) stay for a week, in a tenth of the store, and the oldest go
 * first. `kept` ones stay as long as `SpoolBounds.kept` says, and the oldest go first. One network has the
 * same share of both as of pending entries, and pending entries come first: these give way.
 */
export type Entries = {
  /**
   * Stores an envelope that was never pending. `too-large`: it exceeds a share, or the bytes for kept entries, and only the line of a dead
   * letter stays. Rejects when the disk or the server fails.
   */
  keep(entry: SpoolEntry, body: SpoolBody, ending: Ending): Promise<'stored' | 'known' | 'too-large'>
  list(filter: EndedFilter, page: EndedPage): Promise<EndedEntry[]>
  /** Counts the entries that match and have a body. With `limit`, the oldest of one state. */
  count(filter: EndedFilter, limit?: number): Promise<EndedCount>
  /** Rejects when the entry is gone, or has no body. */
  read(entry: EndedEntry): Promise<StoredBody>
  /**
   * Makes up to `limit` entries with a body pending, the oldest first, unless shares are used up or they are pending already. It evicts
   * nothing. Dead letters move; kept entries stay, and a copy becomes pending. Begins after `after`.
   */
  resend(filter: EndedFilter, limit: number, after?: EndedPlace): Promise<Resent>
  /** Removes entries. Returns their number, at most some thousands. */
  purge(filter: EndedFilter): Promise<number>
}

/** Selection of kept entries; absent members select all. */
export type InboxQuery = {
  /** Receipt. */
  id?: string | undefined
  /** Item type. */
  type?: string | undefined
  /** Without `type`: an item type; selects envelopes with an item of another one. */
  hidden?: string | undefined
  group?: string | undefined
  release?: string | undefined
  environment?: string | undefined
  /** Envelopes of a replay: its segments and its errors. */
  replay?: string | undefined
  /** Words that must all occur. */
  search?: string | undefined
}

/** Span of time in milliseconds since 1970. `until` is not part of it. */
export type Span = { from: number; until: number }

/** Selection and position in the list. `after` is the `next` of the previous page, the number of an entry. */
export type InboxPageQuery = InboxQuery & { after?: number | undefined }

/** `count` spans of time of `stepMs` each, since `from`. */
export type Steps = { from: number; stepMs: number; count: number }

/** Kept entries as people read them: the newest 10,000. */
export type Summaries = {
  /** Lists the newest entries. */
  list(limit: number, query?: InboxPageQuery): Promise<InboxPage>
  /** Lists groups of entries, the last updated one first. With `steps`, each has its counts over time. */
  groups(limit: number, query?: InboxPageQuery, steps?: Steps): Promise<Omit<InboxGroups, 'inbox'>>
  /** Returns the newest entry of a receipt. */
  find(receipt: string): Promise<EndedEntry | undefined>
  /** Counts the entries that arrived in a span of time. */
  countArrived(span: Span): Promise<number>
}

/** Bytes of an answer that are kept. */
export const ANSWER_BYTES = 1024

export type SpoolTotals = {
  envelopes: number
  /** Bytes on disk, headers and indexes included. The bound applies to them. */
  bytes: number
  /** Arrival of the oldest entry in milliseconds since 1970; absent without entries. */
  oldest?: number
  partitions: PartitionTotals[]
  paused: Pause[]
  /** Entries that the store has lost, as far as this replica noticed it. */
  lost?: number
  /** Error of the disk or the server, while nothing can be delivered or put. */
  problem?: string
}

/** Totals of one project and category. `bytes` may be approximate. */
export type PartitionTotals = {
  project: string
  category: string
  envelopes: number
  bytes: number
  oldest?: number
}

/** Store of a spool as operators see it. */
export type SpoolDescription = {
  /** Bound of the bytes on disk. */
  maxBytes: number
  /** Meaning that an entry is stored: on how many disks it is synced, or `unproven:` or `in memory:` and the reason. */
  durability: string
  /** Absent when a server stores the entries, and when the disk does not answer. */
  disk?: SpoolDisk
}

/** State of the disk of a spool that is a file. */
export type SpoolDisk = {
  freeBytes: number
  /** Length of the write-ahead log. */
  walBytes: number
  /** Files that were set aside because they were damaged. */
  damagedFiles: string[]
  /** Problem of the file that is in use. */
  problem?: string
}

/**
 * Longest time until a postponed entry is due, and longest lease. Later times were written before the clock was set back: such entries are due.
 * While a longer rate limit applies, the caller does not ask for its category.
 */
export const LONGEST_DELAY_MS = 2 * 60 * 1000
export const LONGEST_LEASE_MS = 30 * 60 * 1000

export type Spool = {
  /** The same for every replica that shares the spool. */
  id: string
  /** Describes the store. Never rejects, and does not wait for a database or a server that does not answer. */
  describe(): Promise<SpoolDescription>
  /**
   * Stores an entry. Resolves when it is on disk, synced, or known, or when there is no room. The caller holds a lease for `leaseMs`, for
   * an attempt that is still pending. Rejects when the disk or the server fails.
   */
  put(envelope: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult>
  /** Writes and syncs a few bytes that are no entry. Rejects when a put would fail. */
  probe(): Promise<void>
  /** Leases up to `limit` due entries, the most important first, then the oldest. */
  take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Promise<Lease[]>
  read(entry: SpoolEntry & EntryRef): Promise<StoredBody>
  /** Extends a lease to `leaseMs` from now. */
  extend(lease: Lease, leaseMs: number): Promise<Lease>
  /**
   * Ends the delivery of an entry. With an ending it stays among `entries`, else it is removed; the ending of a resent one whose original was
   * kept is noted there. `false`: the lease was lost, or the entry evicted, and another replica reports it.
   */
  finish(lease: Lease, ending?: Ending): Promise<boolean>
  /** Releases a lease. The entry is due at `at`, for every replica, and two minutes from now at the latest. */
  postpone(lease: Lease, at: number): Promise<void>
  /** Ends the delivery of the entries that became pending before `before`, and returns them. They stay among `entries`, `expired`. */
  expire(before: number): Promise<SpoolEntry[]>
  totals(): Promise<SpoolTotals>
  /** Lists entries; fewer than the limit only on the last page. */
  list(query: PageQuery | EntryQuery): Promise<ListedEntry[]>
  /** Makes postponed entries due, except leased ones. Returns their number, at most some thousands. */
  retry(which: EntryFilter): Promise<number>
  /** Removes entries, leased ones too, and returns them, at most some thousands. */
  purge(which: EntryFilter): Promise<SpoolEntry[]>
  /** Stops delivery of a project, or of all, on every replica. Pending attempts and puts go on. */
  pause(project?: string): Promise<void>
  /** Ends the pause of a project, or the pause of all, which leaves those of projects. */
  resume(project?: string): Promise<void>
  readonly entries: Entries
  /** Absent on a server, when no entries are kept, and until the spool is open. */
  readonly summaries?: Summaries | undefined
  /** State of the replicas that is no envelope, stored beside the entries. */
  readonly state: SharedState
  close(): Promise<void>
}

/** Receives the final outcome of each entry, once. `status` and `message` are those of the last response. */
export type OnFinalOutcome = (
  entry: SpoolEntry,
  finalOutcome: FinalOutcome,
  status: number | undefined,
  reason?: FinalOutcomeReason,
  message?: string,
) => void

/** Share of the bytes of entries that one client address may fill. */
export const ADDRESS_SHARE = 0.05

/** Accepted envelopes that stay: `all`, since the spool is their destination, or those with errors and feedback. */
export type Keeping = 'all' | 'errors'

export type SpoolBounds = {
  /** Bytes on disk: headers and indexes included, for SQLite also its log and its reserve. */
  bytes: number
  /** Shares of the bytes of entries, from 0 to 1, that one client address and one project may fill. */
  addressShare: number
  projectShare: number
  /** Bytes on disk and age of kept entries; absent when none are kept. */
  kept?: { bytes: number; ageMs: number }
}

/** Returns the time at which an entry became pending: its arrival, or the last time at which it was resent. */
export function pendingSince({ received, resent }: Pick<SpoolEntry, 'received' | 'resent'>): number {
  return resent ?? received
}
