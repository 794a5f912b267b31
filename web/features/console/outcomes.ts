/** The fates in the order in which they are shown, and what each means. */

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
  delivered: 'Sentry has it, or the inbox where there is no Sentry.',
  spooled: 'Sentry did not take it in time: it is on disk, synced, and is delivered later.',
  limited: 'Sentry has asked to hold this kind back, or its sender sends too much.',
  filtered: 'Left out on purpose: a filter that is on, or the same bytes wait already.',
  refused: 'This tunnel did not accept it.',
  declined: 'Sentry answered that it does not take it.',
  aborted: 'The sender left before it had arrived whole.',
  expired: 'It waited too long, or made room for what is more important. Sentry was told.',
  purged: 'An operator took it out of the spool.',
}
