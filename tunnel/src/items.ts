/** The item types that Sentry knows. */

/** PROTOCOL §2, from Relay's `ItemType` (relay-server/src/envelope/item.rs). Others pass too; they are counted as `other`. */
export const ITEM_TYPES: ReadonlySet<string> = new Set([
  'event',
  'transaction',
  'attachment',
  'feedback',
  'user_report',
  'session',
  'sessions',
  'client_report',
  'replay_event',
  'replay_recording',
  'replay_video',
  'profile',
  'profile_chunk',
  'check_in',
  'span',
  'log',
  'trace_metric',
  'raw_security',
  'security',
  'nel',
  'statsd',
  'metric_buckets',
  'form_data',
  'unreal_report',
])
