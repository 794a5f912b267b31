/** Note for visitors whose browser sends Global Privacy Control, on the reports about them. */

import { headers } from 'next/headers'
import { config } from '../lib/config.ts'
import { nonceOf } from '../lib/security-headers.ts'
import { asksForPrivacy, type PrivacySignal } from '../lib/sentry/privacy.ts'

const WHAT_FOLLOWS: Record<PrivacySignal, string> = {
  off: 'Nothing is reported about you: this site does not learn when a page fails for you.',
  errors: 'Only errors are reported: no session replay and no performance traces.',
  mark: 'Everything is reported as usual, and your reports are marked with this request.',
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

export async function ReachTest() {
  const { reachTestUrl } = config()
  return reachTestUrl && <script async src={reachTestUrl} nonce={nonceOf(await headers())} />
}
