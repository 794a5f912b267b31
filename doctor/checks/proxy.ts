/** Checks that the proxy passes requests and responses on as they are. Its problems explain failures of most other checks. */

import { type Check, type Finding, failWith, pass, unknown } from '../check.ts'
import { type Deployment, receiptToken } from '../deployment.ts'
import { reportEnvelope } from '../envelopes.ts'
import { type HttpResponse, jsonOf, summarize } from '../request.ts'

/** Body that every tunnel rejects with 400. */
const MALFORMED = Buffer.from('no envelope')

export const proxy: Check = {
  name: 'proxy',
  title: 'The proxy passes requests and responses on unmodified',
  verifies:
    'Each post has a response of its own with the headers of the tunnel, and a rejected one keeps its status.',
  remedy:
    'Let the proxy (CDN, load balancer, web application firewall) forward POST requests on the tunnel path to nginx, and change neither their responses nor the requests.',
  async run(deployment) {
    const responses = await postTwice(deployment)
    const malformed = await deployment.post(MALFORMED)
    const problem = [...responses, malformed].map(describeOwnAnswer).find((each) => each !== undefined)
    return problem ?? judge(responses, malformed)
  },
}

/** Posts two reports, or bodies that are rejected where the DSN is unknown. */
async function postTwice({ dsn, run, post }: Deployment): Promise<HttpResponse[]> {
  const bodies = [0, 1].map((bytes) =>
    dsn === undefined ? MALFORMED : reportEnvelope(dsn, run, 512 + bytes),
  )
  const responses: HttpResponse[] = []
  for (const body of bodies) responses.push(await post(body))
  return responses
}

/** Returns the problem of a proxy that answers instead of the tunnel. */
function describeOwnAnswer({ status, headers }: HttpResponse): Finding | undefined {
  if (status >= 300 && status < 400)
    return failWith(
      `It redirects (${status}) to ${headers.location ?? 'an unnamed place'}: SDKs do not follow redirects.`,
      'Run the doctor on the address that it redirects to, and let pages post there; or route the tunnel path without a redirect or sign-in.',
    )
  if (status === 429 && headers['x-sentry-rate-limits'] === undefined)
    return failWith(
      'It answers with a bare 429, which stops all reports of a page, errors included.',
      'Leave rate limits to the tunnel, or let the proxy add X-Sentry-Rate-Limits with categories to its 429 responses.',
    )
  return undefined
}

function judge(responses: readonly HttpResponse[], malformed: HttpResponse): Finding {
  const [first, second] = responses.map(receiptToken)
  const isTunnel = jsonOf(malformed).code === 'not-an-envelope'
  if (first !== undefined && first === second)
    return failWith(
      'It answers posts from a cache: two posts have the same receipt, and the second never reached a tunnel.',
      'Switch off the cache of the proxy for the tunnel path, and for all POST requests.',
    )
  if (malformed.status < 300 && (isTunnel || first !== undefined))
    return failWith(
      `It rewrites the status: a malformed envelope is answered with ${malformed.status} instead of 400.`,
      'Let the proxy pass the status of the tunnel on, error pages of its own switched off.',
    )
  if (isTunnel && receiptToken(malformed) === undefined)
    return failWith(
      'It removes headers of responses: the tunnel’s receipt (x-culvert-receipt) is missing.',
      'Let the proxy pass X-Culvert-Receipt, X-Sentry-Rate-Limits and Retry-After on.',
    )
  if (!isTunnel) return unknown(`No tunnel responds: ${summarize(malformed)}.`)
  return pass('Two posts have receipts of their own, and a malformed one is rejected with 400.')
}
