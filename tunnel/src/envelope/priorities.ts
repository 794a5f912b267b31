/** Priorities of data categories, for the order of delivery and eviction. */

/** Lower numbers are delivered first and evicted last. */
const PRIORITIES: Readonly<Record<string, number>> = {
  error: 0,
  feedback: 0,
  monitor: 0,
  session: 1,
  attachment: 1,
  '': 1, // client reports and unknown types
  security: 2, // browsers report violations by themselves, and often hundreds
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

/** Returns the most important category of an envelope; `''` for none. */
export function mostImportant(categories: readonly string[]): string {
  let [most = ''] = categories
  for (const category of categories) if (priorityOf(category) < priorityOf(most)) most = category
  return most
}
