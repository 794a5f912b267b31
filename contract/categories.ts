/** Sentry's data categories. Others in a rate limit are ignored. */

export const CATEGORIES = [
  'error',
  'transaction',
  'attachment',
  'attachment_item',
  'feedback',
  'session',
  'replay',
  'profile',
  'profile_chunk',
  'monitor',
  'span',
  'log_item',
  'log_byte',
  'trace_metric',
  'trace_metric_byte',
  'security',
  'metric_bucket',
  'profile_chunk_ui',
  'profile_ui',
  'profile_backend',
] as const
export type Category = (typeof CATEGORIES)[number]

export const CATEGORY_NAMES: ReadonlySet<string> = new Set(CATEGORIES)
