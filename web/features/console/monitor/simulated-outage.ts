/** Simulated outage of Sentry, which inboxes take part in. */

import type { ReplicaStatus } from 'contract/admin-api'
import type { SimulatedOutageStatus } from 'contract/inbox'

export type SimulatedOutage = Pick<SimulatedOutageStatus, 'remaining_ms' | 'pending'>

/** Adds up the outages of all inboxes, each of which replicas may share. Returns `undefined` when none is on, and nothing is pending. */
export function simulatedOutageOf(
  statuses: readonly Pick<ReplicaStatus, 'history_store' | 'simulated_outage'>[],
): SimulatedOutage | undefined {
  const byInbox = new Map(
    statuses.flatMap(({ history_store: inbox, simulated_outage: outage }) =>
      outage ? [[inbox, outage]] : [],
    ),
  )
  const sum = { remaining_ms: 0, pending: 0 }
  for (const { remaining_ms, pending } of byInbox.values()) {
    sum.remaining_ms = Math.max(sum.remaining_ms, remaining_ms)
    sum.pending += pending
  }
  return sum.remaining_ms + sum.pending > 0 ? sum : undefined
}
