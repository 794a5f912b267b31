/** Types of the inbox in the admin API, which web shares. */

/** Envelope in the inbox, as listed. */
export type InboxEntry = {
  id: string
  /** Time of arrival, in milliseconds since 1970. */
  time: number
  event_id: string | null
  bytes: number
  /** Types of the first 100 items, in order, cut to 64 characters. */
  types: string[]
} & InboxSummary

/** Fields that the inbox reads from an envelope and stores beside it. Texts are cut; absent ones are empty. */
export type InboxSummary = {
  /** Envelopes with the same one belong together, such as reports of one error. */
  group: string
  kind: string
  title: string
  /** Place of an error: its function and file, or its transaction. */
  culprit: string
  /** Browser of an event, with its version. */
  browser: string
  is_error: boolean
  release: string
  environment: string
  /** ID of the replay that it is a segment of, or during which its error was raised. */
  replay: string
  /** Number of the segment, for segments of a replay. */
  segment: number | null
  /** Time of the event itself, in milliseconds since 1970. */
  raised: number | null
}

/** Simulated outage of Sentry, which the inbox replaces. */
export type SimulatedOutageStatus = {
  /** Milliseconds until the outage ends; 0 without one. */
  remaining_ms: number
  /** Spooled envelopes. */
  pending: number
  /** Envelopes in the inbox that arrived during the outage. */
  delivered: number
}

/** Group of envelopes in the inbox. Times are those of arrival, in milliseconds since 1970. */
export type InboxGroup = {
  envelopes: number
  /** Number of different users, as far as the envelopes name them. */
  users: number
  first: number
  newest: InboxEntry
  /** Envelopes in each span of time, if the request asks for spans; `null` for spans before the oldest entry of the inbox. */
  counts?: (number | null)[]
}

/** Page of the inbox; `next` is the value of `after` for the next one. */
export type InboxPage = { entries: InboxEntry[]; next?: number }

/** Page of groups, the last updated one first. Replicas that share an inbox report the same `inbox`. */
export type InboxGroups = {
  inbox: string
  groups: InboxGroup[]
  next?: number
  /** Most frequent releases and environments in the inbox, at most 50 of each. */
  releases: string[]
  environments: string[]
}
