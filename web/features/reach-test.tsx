/** Script that tests whether this browser reaches Sentry, where `REACH_SAMPLE_RATE` asks for it. */

import { headers } from 'next/headers'
import { config } from '../lib/config.ts'
import { nonceOf } from '../lib/security-headers.ts'

export async function ReachTest() {
  const { reachTestUrl } = config()
  return reachTestUrl && <script async src={reachTestUrl} nonce={nonceOf(await headers())} />
}
