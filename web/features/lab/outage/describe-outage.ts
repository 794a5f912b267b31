/** State of the simulated outage in words. */

import type { SimulatedOutageStatus } from 'contract/inbox'
import { formatQuantity } from '../../../lib/format.ts'

/** Describes the state without its counts, which change every second. */
export function describeOutage({ remaining_ms, pending, delivered }: SimulatedOutageStatus): string {
  if (remaining_ms > 0)
    return 'Sentry is unreachable (simulated). Envelopes are accepted and wait on disk. Send some, also with the buttons below.'
  if (pending > 0) return 'Sentry responds again. The pending envelopes are being delivered.'
  if (delivered > 0)
    return `The outage is over. ${formatQuantity(delivered, 'spooled envelope')} arrived in the inbox.`
  return 'No outage at the moment.'
}
