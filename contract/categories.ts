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

/** Names of data categories and types of items that users know by another word. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['none', 'no category'], // envelopes that are not parsed or have only client reports
  ['log', 'logs'],
  ['log_item', 'logs'],
  ['trace_metric', 'metrics'],
  ['raw_security', 'CSP report'],
])

/** Returns the label of a data category. */
export function categoryLabel(category: string): string {
  return NAMES.get(category) ?? category.replaceAll('_', ' ')
}
