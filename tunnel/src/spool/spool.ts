/** Interface of a spool: envelopes that Sentry has not accepted yet, on disk. */

import type { Readable } from 'node:stream'
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

/** Selects a page of entries, in order of arrival. */
export type PageQuery = Omit<EntryFilter, 'entry'> & {
  order: 'newest' | 'oldest'
  limit: number
  /** Position of the last entry of the previous page. */
  after?: Position
}

/** Selects one entry: a page with it, or an empty one when it is gone. */
export type EntryQuery = { entry: EntryRef }

export type Position = { received: number; place: number }

/** Pause of the delivery of one project, or of all projects. */
export type Pause = { project?: string; since: number }

export type PutResult =
  /** On disk, synced. `evicted` entries made room. */
  | { kind: 'stored'; lease: Lease; evicted: SpoolEntry[] }
  /** The spool has the same body for the same upstream. */
  | { kind: 'known' }
  /** No less important entry could make room, or a share is used up. */
  | { kind: 'full'; reason: 'bound' | 'address-share' | 'project-share' }

/** Project whose entries are wanted, except for some categories. */
export type ProjectDemand = { project: string; rateLimitedCategories: readonly string[] }

/** Entries that a probe of the upstream must not be: of these networks, or with these keys. */
export type Avoided = { networks: readonly string[]; entries: readonly string[] }

/** Body to store: it can be read repeatedly. `file` holds it already, if set. */
export type SpoolBody = { chunks: () => Iterable<Buffer> | AsyncIterable<Buffer>; file?: string | undefined }

/** Stored body: its bytes, or a function that opens a stream of them. */
export type StoredBody = Buffer | { open: () => Readable }

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
 * Of a longer rate limit, the caller leaves the category out of its demand.
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
  take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[], avoided?: Avoided): Promise<Lease[]>
  read(entry: SpoolEntry & EntryRef): Promise<StoredBody>
  /** Extends a lease to `leaseMs` from now. */
  extend(lease: Lease, leaseMs: number): Promise<Lease>
  /** Removes an entry after its final outcome. `false`: the lease was lost, or the entry evicted, and another replica reports it. */
  finish(lease: Lease): Promise<boolean>
  /** Releases a lease. The entry is due at `at`, for every replica, and two minutes from now at the latest. */
  postpone(lease: Lease, at: number): Promise<void>
  /** Removes the entries that arrived before `before`, and returns them. */
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
  /** State of the replicas that is no envelope, stored beside the entries. */
  readonly state: SharedState
  close(): Promise<void>
}

export type SpoolBounds = {
  /** Bytes on disk: headers and indexes included, for SQLite also its log and its reserve. */
  bytes: number
  /** Shares of the bytes of entries, from 0 to 1, that one client address and one project may fill. */
  addressShare: number
  projectShare: number
}
