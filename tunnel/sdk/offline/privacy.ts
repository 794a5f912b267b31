/** Envelopes from before the visitor asked for privacy. */

import type { Envelope, EnvelopeItem } from '@sentry/core'
import type { LoaderConfig } from '../handover.ts'
import { asksForPrivacy } from '../page.ts'

/** Types of items that `PRIVACY_SIGNAL=errors` allows. Attachments belong to the others. */
const ERRORS = ['event', 'feedback', 'user_report', 'session', 'sessions', 'check_in', 'client_report']

/** Returns what may be sent of an envelope; `undefined` if nothing. */
export function permitted(
  envelope: Envelope,
  privacy: LoaderConfig['privacy'] = 'errors',
): Envelope | undefined {
  if (!asksForPrivacy()) return envelope
  if (privacy === 'off') return undefined
  const [header, items] = envelope as [Envelope[0], EnvelopeItem[]]
  const isOfErrors = ([{ type }]: EnvelopeItem) => ERRORS.includes(type)
  if (privacy === 'errors' && !items.some(isOfErrors)) return undefined
  const allowed =
    privacy === 'mark' ? items : items.filter((item) => isOfErrors(item) || item[0].type === 'attachment')
  return [header, allowed.map(mark)] as Envelope
}

/** Adds the tag that events of these visitors have. */
function mark(item: EnvelopeItem): EnvelopeItem {
  const [header, payload] = item as [EnvelopeItem[0], { tags?: object }]
  if (!['event', 'transaction', 'feedback'].includes(header.type) || ArrayBuffer.isView(payload)) return item
  return [header, { ...payload, tags: { ...payload.tags, gpc: true } }] as EnvelopeItem
}
