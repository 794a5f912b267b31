/** Simulated outage of Sentry, for which inboxes stand. */

import type { ReplicaStatus } from 'contract/admin-api'

/** Returns the milliseconds until the last simulated outage ends; `undefined` without one. */
export function simulatedOutageOf(
  statuses: readonly Pick<ReplicaStatus, 'simulated_outage'>[],
): number | undefined {
  const remainingMs = Math.max(0, ...statuses.map((status) => status.simulated_outage?.remaining_ms ?? 0))
  return remainingMs > 0 ? remainingMs : undefined
}
