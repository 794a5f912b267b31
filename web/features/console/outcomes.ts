/** Outcomes in the order in which they are shown, and their meanings. */

import type { Answer, SpoolEnd } from 'tunnel/contract'

export const ANSWERS: readonly Answer[] = [
  'delivered',
  'spooled',
  'limited',
  'filtered',
  'refused',
  'declined',
  'aborted',
]

export const ENDS: readonly SpoolEnd['end'][] = ['delivered', 'declined', 'expired', 'purged']

export const MEANINGS: Record<Answer | SpoolEnd['end'], string> = {
  delivered: 'Accepted by Sentry, or stored in the inbox when no Sentry is configured.',
  spooled: 'Sentry did not accept it in time. It is stored on disk, synced, and delivered later.',
  limited: 'Sentry rate-limits this category, or the sender exceeded a rate limit of Culvert.',
  filtered: 'Discarded by an active filter, or a duplicate of a pending envelope.',
  refused: 'Rejected by Culvert.',
  declined: 'Declined by Sentry.',
  aborted: 'The sender disconnected before the upload was complete.',
  expired:
    'It exceeded its age limit in the spool, or made room for more important envelopes. Sentry was notified.',
  purged: 'An operator purged it from the spool.',
}
