/** Policies of a replica, as `GET /status` returns them. Times are in milliseconds since 1970. */

/** `observe` only counts what `enforce` would do. */
export type PolicyMode = 'enforce' | 'observe'

/** Reason of the outcome `filtered`: one of many identical errors, or left out by sampling since a quota is nearly used up. */
export type SamplingReason = 'storm' | 'quota-sampled'

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
