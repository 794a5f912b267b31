/** Types of the admin API that describe the spool and its entries. */

/** Result of a delivery attempt; `undecided` is retried. */
export type AttemptResult = 'delivered' | 'declined' | 'rate_limited' | 'undecided'

/** Delivery attempts of one replica since it started. */
export type SpoolAttempts = { project: string; result: AttemptResult; attempts: number }

/** Spool entries of one project and category (`none` for entries without). Times are in milliseconds since 1970. */
export type SpoolPartition = {
  project: string
  category: string
  envelopes: number
  bytes: number
  /** Arrival of the oldest entry. */
  oldest?: number
}

/** Delivery is paused for one project, or for all. Envelopes are still spooled. */
export type SpoolPause = { project?: string; since: number }

export type SpoolDepth = {
  envelopes: number
  bytes: number
  oldest?: number
  /** Until the bound or the disk is full, extrapolated from the last minutes; absent when neither fills up. */
  full_in_seconds?: number
  partitions: SpoolPartition[]
  /** Entries for mirrors, which `envelopes`, `oldest` and `partitions` leave out, and `bytes` does not; absent without any. */
  mirrors?: SpoolPartition[]
  paused: SpoolPause[]
  /** Entries that the store has lost, as far as this replica noticed it since it started. */
  lost?: number
}

/** ID that a replica reports until its spool is open. */
export const NOT_OPEN = 'none-yet'

/** Spool in `/status`. Replicas that share it have the same `id`. The depth is absent when the spool does not respond. */
export type SpoolStatus = Partial<SpoolDepth> & {
  id: string
  /** Result of the last put, its first time, and the error of the disk or the server. */
  writable: boolean
  since: number
  problem?: string
  /** Meaning of a success: on how many disks or servers an entry is synced, or `unproven:` and the reason. Absent from older releases. */
  durability?: string
  /** Bounds: bytes of all entries, bytes of one project, and the age at which entries expire. */
  max_bytes: number
  project_max_bytes: number
  max_age_ms: number
  attempts: SpoolAttempts[]
  /** Free space of the disk, length of the write-ahead log, damaged files that were set aside; absent when the spool is no file. */
  disk_free_bytes?: number
  wal_bytes?: number
  damaged_files?: string[]
}

/** Number of entries that have become due. */
export type SpoolRetried = { retried: number }

/** One call purges some thousands; `left` is the number of selected entries that are still pending. */
export type SpoolPurged = { purged: number; left: number }

/** Response of `POST /spool/pause` and `/spool/resume`. */
export type SpoolPaused = { paused: SpoolPause[] }
