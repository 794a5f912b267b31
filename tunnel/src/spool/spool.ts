/** What a spool promises: envelopes that Sentry has not taken wait here, on disk, until it does. */

import type { Readable } from 'node:stream'

/** What waits, without its bytes. */
export type Waiting = {
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
  /** Id of the receipt it was answered with. */
  receipt: string
  /** The file that holds its body, where a store keeps it in one. */
  file?: string | undefined
  /** Headers of the POST to Sentry, as names and values in turn. */
  headers: string[]
}

/** One that a replica works on. Until `until` it is nobody else's. */
export type Lease = Waiting & { id: number; attempts: number; until: number }

export type PutResult =
  /** On disk, synced. What had to make room for it is told. */
  | { kind: 'stored'; lease: Lease; evicted: Waiting[] }
  /** The same bytes for the same upstream wait already. */
  | { kind: 'known' }
  /** Nothing less important was there to make room, or a share is used up. */
  | { kind: 'full'; why: 'bound' | 'address-share' | 'project-share' }

/** A project whose envelopes a taker wants now, but for some categories. */
export type Wanted = { project: string; heldBack: readonly string[] }

/** A body to keep: bytes, or a way to read them from the first on as often as needed, and the file that holds them, if one does. */
export type SpoolBody =
  | Buffer
  | { chunks: () => Iterable<Buffer> | AsyncIterable<Buffer>; file?: string | undefined }

/** A body that was kept: bytes, or a way to read them from the first on. */
export type KeptBody = Buffer | { open: () => Readable }

export type SpoolTotals = {
  envelopes: number
  bytes: number
  /** When the oldest arrived, in milliseconds since 1970; absent when nothing waits. */
  oldest?: number
  /** `bytes` is absent where a store cannot tell them apart. */
  byProject: { project: string; category: string; envelopes: number; bytes?: number }[]
}

export type Spool = {
  /** The same for every replica that shares it, so that its figures are counted once. */
  id: string
  /**
   * Resolves when the envelope is on disk, synced, or will not be. The caller holds its lease for `leaseMs`, for an attempt that
   * is still under way. Rejects when the disk does not take it.
   */
  put(envelope: Waiting, body: SpoolBody, leaseMs: number): Promise<PutResult>
  /** Leases up to `limit` that are due, the most important first, then the oldest. */
  take(limit: number, leaseMs: number, wanted: readonly Wanted[]): Promise<Lease[]>
  /** The bytes of a leased one. */
  read(lease: Lease): Promise<KeptBody>
  extend(lease: Lease, leaseMs: number): Promise<Lease>
  /** It has come to an end and is forgotten. `false` when that was told by somebody else: its lease was lost, or it made room. */
  finish(lease: Lease): Promise<boolean>
  /** It is tried again after `at`, by anybody. */
  postpone(lease: Lease, at: number): Promise<void>
  /** Forgets all that arrived before `before`, and tells it. */
  expire(before: number): Promise<Waiting[]>
  totals(): Promise<SpoolTotals>
  close(): Promise<void>
}

export type SpoolBounds = {
  bytes: number
  /** The part of the bytes that one address, and one project where there are several, may fill. */
  addressShare: number
  projectShare: number
}

/** What goes first when Sentry is back, and is given up last when room is short; the smaller the more important. */
const PRIORITIES: Readonly<Record<string, number>> = {
  error: 0,
  feedback: 0,
  monitor: 0,
  security: 0,
  session: 1,
  attachment: 1,
  '': 1, // client reports and unknown types
  log_item: 2,
  trace_metric: 2,
  metric_bucket: 2,
  transaction: 2,
  span: 2,
  profile: 3,
  profile_chunk: 3,
  profile_chunk_ui: 3,
  replay: 3,
}

export function priorityOf(category: string): number {
  return PRIORITIES[category] ?? 1
}
