/** Policies of a replica, as `GET /status` returns them. Times are in milliseconds since 1970. */

/** `observe` only counts what `enforce` would do. */
export type PolicyMode = 'enforce' | 'observe'

/** Reason of the outcome `filtered`: one of many identical errors. */
export type SamplingReason = 'storm'

/** Reason of the outcome `rate_limited`: a quota is used up, or the share of it that one client address has. */
export type QuotaReason = 'quota' | 'quota-address'

/** Period of a quota, in UTC. */
export type QuotaPeriod = 'day' | 'hour'

/** Identical errors of which more than `STORM_LIMIT` a minute arrive. */
export type StormStatus = {
  /** The same on every replica. */
  fingerprint: string
  project: string
  /** Types of the exceptions, and the innermost function. Never the message. */
  title: string
  since: number
  /** Errors since the storm began, and those of them that were forwarded, or would have been. */
  seen: number
  sent: number
}

/** Quota of one project, category and period. */
export type QuotaStatus = {
  project: string
  category: string
  period: QuotaPeriod
  limit: number
  /** Forwarded or spooled by all replicas; in the mode `observe` also beyond the limit. */
  used: number
  /** End of the period. */
  resets: number
}

export type PolicyName = 'scrub' | 'storm' | 'quota'

/** Rule of a policy. Its hits are `rules` of the figures. */
export type PolicyRule = { policy: PolicyName; rule: string }

/** Policies of a replica. Absent ones are off. */
export type PolicyStatus = {
  scrub?: { level: 'default' | 'strict'; mode: PolicyMode }
  storm?: { limit: number; mode: PolicyMode; storms: StormStatus[] }
  quota?: { mode: PolicyMode; quotas: QuotaStatus[] }
  /** Those that the operator has written. */
  rules: readonly PolicyRule[]
}

/** Value that scrubbing changes or would change. Texts of at most 300 characters, from an untrusted sender. */
export type ScrubChange = {
  /** Type of the item. */
  item: string
  /** Names and indexes from the payload to the value, joined by dots. */
  path: string
  before: string
  after: string
  rule: string
}

/** Changes of the newest envelope in the inbox that scrubbing would change, as `GET /policies/example` returns them. */
export type ScrubExample = {
  /** Envelopes that were searched, the newest ones. */
  searched: number
  /** Absent: it would change none of them. */
  entry?: { id: string; time: number; title: string }
  /** At most 50 of `total`. */
  changes: ScrubChange[]
  total: number
}
