/** What a visitor reads whose browser asks for privacy: that it was heard, and what follows. */

import { headers } from 'next/headers'
import { config } from '../lib/config.ts'
import { asksForPrivacy, type PrivacySignal } from '../lib/sentry/privacy.ts'

const WHAT_FOLLOWS: Record<PrivacySignal, string> = {
  off: 'So nothing is reported of you: this site does not notice when a page fails for you.',
  errors: 'So of you errors alone are reported: no recording of your visit, and no timing of its steps.',
  mark: 'Your reports are marked with that, and are otherwise those of everyone.',
}

export async function PrivacyNote() {
  if (!asksForPrivacy((await headers()).get('sec-gpc'))) return null
  return (
    <p className="mt-8 max-w-3xl rounded-card border border-line bg-surface p-5">
      Your browser asks sites not to track you (Global Privacy Control).{' '}
      {WHAT_FOLLOWS[config().privacySignal]}
    </p>
  )
}
