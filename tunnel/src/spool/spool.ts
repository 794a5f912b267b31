/** What a spool promises: envelopes that Sentry has not taken wait here, on disk, until it does. */

import type { Readable } from 'node:stream'

/** What waits, without its bytes. */
export type SpoolEntry = {
  /** The first 16 bytes of SHA-256 over upstream and body, in hex: what it is known by (`DESIGN.md` §3). */
  key: string
  /** Its DSN, without a secret. */
  project: string
  /** Data category of its most important item; empty for none. */
  category: string
  /** 0 goes first and is given up last. */
  priority: number
  /** The client address's network, for its share; empty when unknown. */
  network: string
  /** When it arrived, in milliseconds since 1970. */
  received: number
  /** Of its body, which is kept unpacked. */
  bytes: number
  /** Bytes on the wire, when it came compressed: it is compressed again before it leaves. */
  wireBytes?: number
  /** Id of the receipt it was answered with. */
  receipt: string
  /** The file that holds its body, where a store keeps it in one. */
  file?: string | undefined
  /** Headers of the POST to Sentry, as names and values in turn. */
  headers: string[]
}

/**
 * One of those that wait: its number in the store, which another may bear when it is gone, and the key that this one alone has. `place` is
 * where it stood when it was found: what is put off may be moved, and keeps its number.
 */
export type EntryRef = { id: number; key: string; place?: number }

/** One that a replica works on. Until `until` it is nobody else's. */
export type Lease = SpoolEntry & EntryRef & { attempts: number; until: number }

/** One as an operator finds it. */
export type ListedEntry = SpoolEntry &
  EntryRef & {
    place: number
    /** How often it was tried, as far as that is known. */
    attempts: number
    /** Before which nobody tries it, in milliseconds since 1970; absent when that is now. */
    due?: number
    /** A replica works on it. */
    leased: boolean
  }

/** Some of what waits: what agrees with all that is named here. */
export type EntryFilter = {
  entry?: EntryRef
  /** DSNs, without a secret. */
  projects?: readonly string[]
  category?: string
}

/** A part of what waits, in the order in which it arrived. */
export type PageQuery = Omit<EntryFilter, 'entry'> & {
  order: 'newest' | 'oldest'
  limit: number
  /** The last one of the page before. */
  after?: Position
}

export type Position = { received: number; place: number }

/** Nothing is taken of one project, or, when none is named, of all of them. */
export type Pause = { project?: string; since: number }

export type PutResult =
  /** On disk, synced. What had to make room for it is told. */
  | { kind: 'stored'; lease: Lease; evicted: SpoolEntry[] }
  /** The same bytes for the same upstream wait already. */
  | { kind: 'known' }
  /** Nothing less important was there to make room, or a share is used up. */
  | { kind: 'full'; reason: 'bound' | 'address-share' | 'project-share' }

/** A project whose envelopes a taker wants now, but for some categories. */
export type ProjectDemand = { project: string; rateLimitedCategories: readonly string[] }

/** A body to keep: a way to read it from the first byte on as often as needed, and the file that holds it, if one does. */
export type SpoolBody = { chunks: () => Iterable<Buffer> | AsyncIterable<Buffer>; file?: string | undefined }

/** A body that was kept: bytes, or a way to read them from the first on. */
export type StoredBody = Buffer | { open: () => Readable }

export type SpoolTotals = {
  envelopes: number
  /** Of the store, with all that it keeps beside a body: what the bound is on. */
  bytes: number
  /** When the oldest arrived, in milliseconds since 1970; absent when nothing waits. */
  oldest?: number
  partitions: PartitionTotals[]
  paused: Pause[]
}

/** Those of one project and category; `bytes` are near the truth where a store cannot count them exactly. */
export type PartitionTotals = {
  project: string
  category: string
  envelopes: number
  bytes: number
  oldest?: number
}

export type Spool = {
  /** The same for every replica that shares it, so that its figures are counted once. */
  id: string
  /** The most bytes that may wait. */
  maxBytes: number
  /**
   * Resolves when the envelope is on disk, synced, or will not be. The caller holds its lease for `leaseMs`, for an attempt that
   * is still under way. Rejects when the disk does not take it.
   */
  put(envelope: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult>
  /** Leases up to `limit` that are due, the most important first, then the oldest. */
  take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Promise<Lease[]>
  /** The bytes of one that waits. */
  read(entry: SpoolEntry & EntryRef): Promise<StoredBody>
  extend(lease: Lease, leaseMs: number): Promise<Lease>
  /** It has come to an end and is forgotten. `false` when that was told by somebody else: its lease was lost, or it made room. */
  finish(lease: Lease): Promise<boolean>
  /** It is tried again after `at`, by anybody. */
  postpone(lease: Lease, at: number): Promise<void>
  /** Forgets all that arrived before `before`, and tells it. */
  expire(before: number): Promise<SpoolEntry[]>
  totals(): Promise<SpoolTotals>
  /** As many as asked for, unless there are no more. */
  list(query: PageQuery): Promise<ListedEntry[]>
  /** `undefined` when it no longer waits. */
  find(ref: EntryRef): Promise<ListedEntry | undefined>
  /** What was put off is due now, but for what a replica works on; gives how many there were, at most some thousands in one call. */
  retry(which: EntryFilter): Promise<number>
  /** Forgets, and tells: under way or not, at most some thousands in one call. */
  purge(which: EntryFilter): Promise<SpoolEntry[]>
  /** No replica takes any more of a project, or of all, until that is resumed. What is under way goes on, and so does putting. */
  pause(project?: string): Promise<void>
  /** Ends the pause of a project, or the one of all, which leaves those of projects. */
  resume(project?: string): Promise<void>
  close(): Promise<void>
}

export type SpoolBounds = {
  /** Of the store, with all that it keeps beside a body. */
  bytes: number
  /** The part of the bytes that one address, and one project where there are several, may fill. */
  addressShare: number
  projectShare: number
}
