/** Reach test: tells the tunnel whether this browser reaches Sentry itself. Runs in a sample of page loads, after the page has loaded. */

import type { ReachConfig } from '../handover.ts'
import { asksForPrivacy, ofDocument, ownScript } from '../page.ts'

/** Replaced by the server. */
declare const CULVERT_REACH: ReachConfig

const DELAY_MS = 3_000 // the page comes first
const TIMEOUT_MS = 10_000
const VIOLATION_MS = 200 // until the browser reports a violation of the page's policy

const config = CULVERT_REACH
const own = ownScript()
const base = /^(.+)\/sdk(?:\/reach)?\.js(?:[?#]|$)/.exec(own?.src ?? '')?.[1] ?? location.origin + config.path

/** Posts an envelope without items to the URL that an SDK without a tunnel posts to. Sentry accepts it, and creates nothing. */
async function test(): Promise<void> {
  let isForbidden = false
  let isLeaving = false
  const { origin } = new URL(config.url)
  const onViolation = ({ blockedURI, disposition }: SecurityPolicyViolationEvent) => {
    if (disposition === 'enforce' && blockedURI.startsWith(origin)) isForbidden = true
  }
  ofDocument('addEventListener').call(document, 'securitypolicyviolation', onViolation as EventListener)
  addEventListener('pagehide', () => {
    isLeaving = true
  })
  let result = await fetch(config.url, {
    method: 'POST',
    body: '{}',
    mode: 'no-cors', // any response will do
    credentials: 'omit',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout?.(TIMEOUT_MS),
  }).then(
    () => 'reachable',
    (error: unknown) => (Object(error).name === 'TimeoutError' ? 'inconclusive' : 'blocked'),
  )
  await new Promise((done) => setTimeout(done, VIOLATION_MS))
  ofDocument('removeEventListener').call(document, 'securitypolicyviolation', onViolation as EventListener)
  if (isLeaving || !navigator.onLine) return
  if (isForbidden) result = 'inconclusive'
  await fetch(`${base}/reach${config.query}`, {
    method: 'POST',
    body: result,
    mode: 'no-cors',
    credentials: 'omit',
  })
}

function start(): void {
  setTimeout(() => test().catch(() => {}), DELAY_MS)
}

if (!asksForPrivacy() && Math.random() < config.rate) {
  if (ofDocument('readyState') === 'complete') start()
  else addEventListener('load', start, { once: true })
}
