/** Outcomes in the order in which they are shown, and their meanings. */

import { categoryLabel } from 'contract/categories'
import type { OutcomeName } from '../../ui/states.ts'

export { FINAL_OUTCOMES, OUTCOMES } from 'contract/admin-api'

/** Returns the label of an item's type. */
export const typeLabel = categoryLabel

export const MEANINGS: Record<OutcomeName, string> = {
  delivered: 'Accepted by Sentry, or stored in the inbox when no Sentry is configured.',
  spooled: 'Sentry did not accept it in time. It is stored on disk and will be delivered later.',
  deferred: 'Answered with 408, 429 or 503. The browser keeps it and sends it again.',
  rate_limited: 'Sentry rate-limits this category, or the sender exceeded a rate limit of Culvert.',
  filtered: 'Discarded by an active filter, or a duplicate of a pending envelope.',
  rejected: 'Rejected by Culvert.',
  declined: 'Declined by Sentry.',
  aborted: 'The sender disconnected before the upload was complete.',
  expired: 'It exceeded its age limit in the spool. Sentry was notified.',
  evicted: 'It made room in the spool for a more important envelope. Sentry was notified.',
  purged: 'An operator purged it from the spool.',
  lost: 'Neither Sentry nor the spool accepted it, or it expired, was evicted or was lost in the spool.',
}
