/** Types and closed sets of the admin API, which web shares. */

import type { SimulatedOutageStatus } from './inbox.ts'
import type { PolicyStatus, QuotaReason, SamplingReason } from './policies.ts'
import type { Situation } from './situation/situation.ts'
import type { SpoolStatus } from './spool.ts'
import type { LimitInForce, ReceiptUpstreamError, UpstreamState } from './upstream.ts'

/** Outcomes of envelopes, exactly one for each, in the order in which they are shown. */
export const OUTCOMES = [
  'delivered',
  'spooled',
  'deferred',
  'rate_limited',
  'filtered',
  'rejected',
  'declined',
  'aborted',
] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Filters for CSP reports. */
export const CSP_FILTERS = ['extensions', 'about', 'blob', 'injected-scripts', 'localhost'] as const
export type CspFilterName = (typeof CSP_FILTERS)[number]

/** Relay's filter keys (relay-filter/src/common.rs `FilterStatKey`), ours for Next.js, and one for each filter of what Relay calls `invalid-csp`. */
export type FilterReason =
  | `csp-${CspFilterName}`
  | 'next-noise'
  | 'browser-extensions'
  | 'web-crawlers'
  | 'legacy-browsers'
  | 'ip-address'
  | 'localhost'
  | 'filtered-transaction'
  | 'error-message'
  | 'release-version'

/** Items that scrubbing removes: those that it cannot scrub, and with `drop-attachments` those that are not JSON. */
export type ScrubReason = 'unscrubbable' | 'attachments-dropped'

/** Reason of the outcome `filtered`. */
export type FilteredReason =
  | FilterReason
  | ScrubReason
  | SamplingReason
  | 'empty'
  | 'duplicate'
  | 'report-type'
  | 'report-own-path'

/** Reason of the outcome `rate_limited`: Sentry's limits, or our own. */
export type RateLimitedReason = 'limited' | 'throttled' | QuotaReason

/** Reason why a policy removed an item. */
export type RemovalReason = FilterReason | ScrubReason | SamplingReason | RateLimitedReason

/** Items of one type: their number when above 1, their bytes together, and the reason when a policy removed them. */
export type ReceiptItem = { type: string; count?: number; bytes: number; discard_reason?: RemovalReason }

/**
 * Anomaly of a request: secrets that the proxy should have removed; a client address that is missing, a list with unknown addresses, or in
 * a reserved range; `X-Forwarded-For` of a peer outside of `EDGE`; a request that nginx sent again after a replica was lost.
 */
export type RequestFlag =
  | 'cookie'
  | 'authorization'
  | 'address-missing'
  | 'address-list'
  | 'address-made-up'
  | 'peer-unknown'
  | 'retried'

/** Record of one envelope for operators, without its content. */
export type Receipt = {
  /** Unique over replicas. */
  id: string
  /** Start of the request, in milliseconds since 1970. */
  time: number
  /** `host/project` of the DSN; absent for an envelope of no known project. */
  project?: string
  /** A label, not a key: many envelopes have none, and all segments of a replay share one. */
  event_id?: string
  /** SDK name and version, cut to 64 characters. */
  sdk?: string
  /** Origin of the page, as the browser names it; absent for senders that are not browsers, and for browser reports. */
  origin?: string
  /** One entry for each known type (`other` for the rest) and `discard_reason`. */
  items: ReceiptItem[]
  /** Body bytes on the wire. */
  bytes: number
  outcome: Outcome
  /** Rejection code, or another reason. */
  reason?: string
  /** Status of the response; 0 when the sender had disconnected. */
  status: number
  /** Status of Sentry's response. */
  upstream_status?: number
  /** Text of a response that was not Sentry's. */
  upstream_message?: string
  /** Reason why it was not delivered at once. */
  upstream_error?: ReceiptUpstreamError
  /** Milliseconds from the start of the request to the response; until the attempt on Sentry; and for that attempt. */
  duration_ms: number
  admitted_after_ms?: number
  upstream_duration_ms?: number
  replica: string
  /** Absent without anomalies. */
  flags?: readonly RequestFlag[]
}

/** Final outcomes of spooled envelopes. `evicted`: made room for a more important one. */
export const FINAL_OUTCOMES = ['delivered', 'declined', 'expired', 'evicted', 'purged'] as const
export type FinalOutcome = (typeof FINAL_OUTCOMES)[number]

/** Results of envelopes for a mirror: the final outcome of its spool entry, or `lost`: the spool could not take it. */
export const MIRROR_RESULTS = [...FINAL_OUTCOMES, 'lost'] as const
export type MirrorResult = (typeof MIRROR_RESULTS)[number]

/** Mirror of a project, by `MIRROR_DSN`, on one replica. Its pending envelopes are in the status of the spool. */
export type MirrorStatus = {
  /** `host/project` of the mirror, and of the project whose envelopes it gets. */
  mirror: string
  project: string
  /** Envelopes since the replica started. */
  results: Partial<Record<MirrorResult, number>>
  /** Rate limits that the mirror has set. */
  limits: LimitInForce[]
  /** Server of the mirror, which may also be that of a project. */
  upstream: UpstreamState
}

/** `not-stored`: spooled before it was known that the server does not store its category, and not sent. */
export type FinalOutcomeReason = 'not-stored'

/** Final outcome of one spooled envelope, as logged and streamed. */
export type SpoolOutcome = {
  /** ID of the receipt. */
  receipt: string
  event_id?: string
  final_outcome: FinalOutcome
  /** Milliseconds since 1970. */
  time: number
  /** Time in the spool. */
  waited_ms: number
  project: string
  category: string
  upstream_status?: number
  reason?: FinalOutcomeReason
  /** Text of a response that was not Sentry's, after which the envelope was given up. */
  upstream_message?: string
  replica: string
}

/** Change that an operator made through the admin port. */
export type OperatorAction = {
  /** Milliseconds since 1970. */
  time: number
  action:
    | 'spool-retry'
    | 'spool-purge'
    | 'spool-pause'
    | 'spool-resume'
    | 'store-resend'
    | 'store-stop'
    | 'store-purge'
    | 'store-erase'
    | 'inbox-delete'
  /** One entry, and its receipt. */
  id?: string
  receipt?: string
  /** Scope of the change; absent for all projects or categories. */
  project?: string
  category?: string
  /** Number of entries that it changed. */
  envelopes?: number
  /** Address of the operator, for whom the console acts. */
  operator?: string
  /** Address of the client of the admin port. */
  client_address?: string
}

/** Begin of warnings that `npm run doctor` has put into the status. */
export const DOCTOR_PREFIX = 'npm run doctor'

/** Response of `GET /status`. */
export type ReplicaStatus = {
  version: string
  replica: string
  /** Start, in milliseconds since 1970. */
  since: number
  /** Settings in force, as an operator writes them, without secrets. */
  settings: { readonly [name: string]: string }
  /** DSNs of the projects, without secrets. In inbox mode the built-in one. */
  dsns: readonly string[]
  /** `host/project` of each. */
  projects: string[]
  in_flight: number
  limits: LimitInForce[]
  upstreams: UpstreamState[]
  /** Absent without `MIRROR_DSN`. `limits` and `upstreams` are those of the projects. */
  mirrors?: MirrorStatus[]
  /** Absent in inbox mode of an earlier release. */
  spool?: SpoolStatus
  /** State of the error reporting, of all replicas that share the spool. Absent for an earlier release. */
  situation?: Situation
  /** Only in inbox mode; absent when the spool does not respond. */
  simulated_outage?: SimulatedOutageStatus
  /** Load of the process; absent for an earlier release. */
  process?: ProcessFigures
  addresses: number
  warnings: string[]
  /** Absent for an earlier release. */
  policies?: PolicyStatus
  /** Last changes by operators on this replica, newest first. */
  actions: OperatorAction[]
}

/** Load of the process of a replica. */
export type ProcessFigures = { resident_bytes: number; cpu_seconds: number; event_loop_p99_seconds: number }

/** Results of the reach test of a browser. `inconclusive`: the policy of the page or a slow network stopped it, or Sentry did not respond to the tunnel either. */
export const REACH_RESULTS = ['reachable', 'blocked', 'inconclusive'] as const
export type ReachResult = (typeof REACH_RESULTS)[number]

/** SDK with its version, or release; `last` in milliseconds since 1970. */
export type LastSeen = { name: string; last: number }

/** Senders of a project (`host/project`) by envelope headers: newest first, at most 50 of each. */
export type ProjectSdks = {
  project: string
  sdks: LastSeen[]
  releases: LastSeen[]
  /** Types of items that Culvert does not know. They are forwarded, except with `SCRUB=strict`. */
  unknown_types: (LastSeen & { count: number })[]
}

/** Envelopes of a project since the replica started. */
export type ProjectTraffic = {
  traffic: { category: string; outcome: Outcome; envelopes: number; bytes: number }[]
  /** Spooled envelopes by final outcome. */
  final_outcomes: Partial<Record<FinalOutcome, number>>
}

/** Project in the response of `GET /projects`. */
export type ProjectActivity = ProjectSdks & ProjectTraffic

/** Last rejected request of a code, sampled once per second; times are in milliseconds since 1970. */
export type RejectionSample = {
  code: string
  last: number
  causes: readonly string[]
  /** Method, path and query, without values. */
  request: string
  /** Values only of headers without secrets. */
  headers: [name: string, value: string | null][]
  /** DSN of the envelope, without a secret; absent when it has none, or was not read so far. */
  dsn?: string
  /** Address of the page (Referer), without query and fragment. */
  page?: string
}

/** First and last time of an outcome and reason (`''` for none) on one replica, in milliseconds since 1970. */
export type OutcomeTime = {
  stage: 'answered' | 'waited'
  outcome: Outcome | FinalOutcome
  reason: string
  first: number
  last: number
}

/** Setting and its value, as an operator writes them; a dash for none. */
export type SettingInForce = {
  name: string
  value: string
  /** Largest value that has an effect. */
  max?: number
  /** Variable that names the file from which the value was read. */
  file_variable?: string
}

/** Response of `GET /rejections`. */
export type Rejections = {
  rejections: RejectionSample[]
  /** Outcomes other than `delivered` and `spooled`. */
  times: OutcomeTime[]
  /** Settings that affect an outcome, by its reason or final outcome. */
  settings: Record<string, SettingInForce[]>
}
