/** What the tunnel tells web and the operators. Types only: web imports these and nothing else that runs in the tunnel. */

/** How a post was answered. Exactly one per envelope (`DESIGN.md` §2.4). */
export type Outcome =
  | 'delivered'
  | 'spooled'
  | 'rate_limited'
  | 'filtered'
  | 'rejected'
  | 'declined'
  | 'aborted'

/** Why an item was dropped: Relay's own filter keys (relay-filter/src/common.rs `FilterStatKey`), or ours for Next.js. */
export type FilterReason =
  | 'next-noise'
  | 'browser-extensions'
  | 'web-crawlers'
  | 'localhost'
  | 'filtered-transaction'
  | 'error-message'
  | 'release-version'

/** Why an envelope was filtered as a whole. */
export type FilteredReason = FilterReason | 'empty' | 'duplicate'

/** Whose limit held it back: Sentry's, or our own. */
export type RateLimitedReason = 'limited' | 'throttled'

/** Items of one type: how many, when more than one, their bytes together, and `limited`, `throttled` or a filter for what was taken out. */
export type ReceiptItem = { type: string; count?: number; bytes: number; discard_reason?: string }

/**
 * What stands out in how nginx, or whoever is in front, handed a request over: secrets of the visitor that should have been kept back,
 * an address that is none, several, or one that nobody has and the sender made up, a peer that is not believed at all (`EDGE`), a request
 * that nginx sends a second time because a replica was lost while it worked on it.
 */
export type RequestFlag =
  | 'cookie'
  | 'authorization'
  | 'address-missing'
  | 'address-list'
  | 'address-made-up'
  | 'peer-unknown'
  | 'retried'

/** One envelope as operators see it: that it came and what became of it, never what it says. */
export type Receipt = {
  /** Our own identity for it, unique over replicas. */
  id: string
  /** When its first byte was read, in milliseconds since 1970. */
  time: number
  /** `host/project` of the DSN it belongs to; absent while unproven. */
  project?: string
  /** The envelope's `event_id`, a label only: many envelopes have none and all segments of a replay share one. */
  event_id?: string
  /** SDK name and version, cut to 64 characters. */
  sdk?: string
  /** One entry for each type that Sentry knows (`other` for the rest) and each `discard_reason`: why items were taken out. */
  items: ReceiptItem[]
  /** Body bytes as they came over the wire. */
  bytes: number
  outcome: Outcome
  /** The code of the rejection, or why else it did not go through. */
  reason?: string
  /** Status the sender was answered with; 0 when it had gone. */
  status: number
  /** Status that Sentry answered with, where it did. */
  upstream_status?: number
  /** Milliseconds from its first byte to the answer, and, where it was meant for Sentry, until it was admitted, and then spent on Sentry. */
  duration_ms: number
  admitted_after_ms?: number
  upstream_duration_ms?: number
  /** The process that took it. */
  replica: string
  /** Absent when nothing stood out. */
  flags?: readonly RequestFlag[]
}

/** One envelope kept in the inbox, as the list shows it. */
export type InboxEntry = {
  id: string
  /** When it arrived, in milliseconds since 1970. */
  time: number
  event_id: string | null
  bytes: number
  /** Item types in their order: of the first 100 items, cut to 64 characters. */
  types: string[]
}

/** Final outcome of a spooled envelope (`DESIGN.md` §2.4). */
export type FinalOutcome = 'delivered' | 'declined' | 'expired' | 'purged'

/** Final outcome of one spooled envelope, as logged and streamed. */
export type SpoolOutcome = {
  /** The receipt it was answered with. */
  receipt: string
  final_outcome: FinalOutcome
  /** When, in milliseconds since 1970, and after how many milliseconds of waiting. */
  time: number
  waited_ms: number
  project: string
  category: string
  upstream_status?: number
  replica: string
}

/** What became of a try to deliver one that waits; `undecided` is tried again. */
export type AttemptResult = 'delivered' | 'declined' | 'rate_limited' | 'undecided'

/** Tries of one replica since it started. */
export type SpoolAttempts = { project: string; result: AttemptResult; attempts: number }

/** What waits of one project and category (`none` for what has none). Times are in milliseconds since 1970. */
export type SpoolPartition = {
  project: string
  category: string
  envelopes: number
  bytes: number
  /** When the oldest arrived. */
  oldest?: number
}

/** Nothing is delivered of one project, or, when none is named, of all; putting goes on. */
export type SpoolPause = { project?: string; since: number }

export type SpoolDepth = {
  envelopes: number
  bytes: number
  oldest?: number
  /** Until it is full at the rate of the last minutes; absent when it does not grow. */
  full_in_seconds?: number
  partitions: SpoolPartition[]
  paused: SpoolPause[]
}

/** The spool in `/status`. Replicas that share it tell the same `id`, and it is counted once; the depth is absent while it cannot be asked. */
export type SpoolStatus = Partial<SpoolDepth> & {
  id: string
  /** Whether it takes what is put into it, since when, and what the disk or the server said otherwise. */
  writable: boolean
  since: number
  problem?: string
  max_bytes: number
  /** The most of them that one project may fill. */
  project_max_bytes: number
  /** How long an envelope may wait. */
  max_age_ms: number
  attempts: SpoolAttempts[]
}

/** One that waits, as `GET /spool` lists it. */
export type SpoolListEntry = {
  /** Names it on every replica that shares the spool. */
  id: string
  receipt: string
  project: string
  category: string
  bytes: number
  received: number
  /** How often it was tried, as far as that is known. */
  attempts: number
  /** When it is tried next, or the try under way is over at the latest; absent when it is due. */
  due?: number
  /** A replica is trying it. */
  leased: boolean
}

/** A page of what waits. */
export type SpoolPage = {
  /** Which spool it is: a shared one is listed once. */
  spool: string
  envelopes: SpoolListEntry[]
  /** For `after`, to have the page that follows; absent on the last one. */
  next?: string
}

/** One that waits, as `GET /spool/<id>` shows it: headers, and no payload. */
export type SpoolEntryDetails = SpoolListEntry & {
  spool: string
  header: Readonly<Record<string, unknown>>
  /** The first 200; `bytes` are those of the payload. */
  items: { header: Readonly<Record<string, unknown>>; bytes: number }[]
  item_count: number
}

/** How many are due now that were not. */
export type SpoolRetried = { retried: number }

/** How many were purged, and how many of those named still wait: one call takes some thousands, and may be repeated. */
export type SpoolPurged = { purged: number; left: number }

/** The answer to `POST /spool/pause` and `/spool/resume`: what is paused now. */
export type SpoolPaused = { paused: SpoolPause[] }

/** A page of the inbox; `next` is for `after`, to have the page that follows. */
export type InboxPage = { entries: InboxEntry[]; next?: number }

/** How many were deleted from the inbox, and how many are left. */
export type InboxDeleted = { deleted: number; left: number }

/** A limit that Sentry has asked for, until then, in milliseconds since 1970. */
export type LimitInForce = { project: string; category: string; until: number }

/** Whether an upstream is asked, since when, and while it is not, when one envelope is tried to see. Times are in milliseconds since 1970. */
export type UpstreamState = {
  origin: string
  breaker: { open: false; since: number } | { open: true; since: number; next_probe: number }
}

/** What a replica says of itself in `/status`. */
export type ReplicaStatus = {
  version: string
  replica: string
  /** When it started, in milliseconds since 1970. */
  since: number
  /** Settings in force by name, as an operator writes them and without secrets. */
  settings: { readonly [name: string]: string }
  /** DSNs of the projects, without secrets. In inbox mode the built-in one. */
  dsns: readonly string[]
  /** `host/project` of each. */
  projects: string[]
  in_flight: number
  limits: LimitInForce[]
  upstreams: UpstreamState[]
  /** Absent in inbox mode. */
  spool?: SpoolStatus
  addresses: number
  warnings: string[]
}

/** An SDK with its version, or a release, and when it last sent, in milliseconds since 1970. */
export type LastSeen = { name: string; last: number }

/** Who has sent of late to a project (`host/project`), newest first and at most 50 of each, as far as envelope headers tell. */
export type ProjectSdks = { project: string; sdks: LastSeen[]; releases: LastSeen[] }

/** Of the requests refused with one code, the last one (looked at once a second); times are in milliseconds since 1970. */
export type RejectionSample = {
  code: string
  last: number
  causes: readonly string[]
  /** Method, path and query, values left out. */
  request: string
  /** Names, with the values of those that tell nobody's secret. */
  headers: [name: string, value: string | null][]
}

/**
 * When a replica first and last gave an envelope this outcome, `answered` at once or after it `waited` in the spool, for this reason, `''`
 * for none; in milliseconds since 1970.
 */
export type OutcomeTime = {
  stage: 'answered' | 'waited'
  outcome: Outcome | FinalOutcome
  reason: string
  first: number
  last: number
}

/** A setting by the name that an operator writes, and its value as it is written; a dash for none. */
export type SettingInForce = { name: string; value: string }

/** Response of `GET /rejections`. */
export type Rejections = {
  rejections: RejectionSample[]
  /** Of every outcome but being delivered and spooled. */
  times: OutcomeTime[]
  /** The settings that would have let pass what did not, by the reason that its receipt tells, or by how its waiting ended. */
  settings: Record<string, SettingInForce[]>
}
