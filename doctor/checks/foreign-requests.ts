/** Checks that the tunnel rejects envelopes of other sites and for other projects. */

import { type Check, type Finding, fail, pass, warn, warnWith, withAdmin, withDsn } from '../check.ts'
import { allowedOrigins, type Deployment } from '../deployment.ts'
import { reportEnvelope } from '../envelopes.ts'
import { type HttpResponse, jsonOf, send, summarize } from '../request.ts'
import { PROBE } from './routes.ts'

/** Origin that no deployment allows. */
export const FOREIGN_ORIGIN = 'https://culvert-doctor.invalid'
const FOREIGN_DSN = 'https://0123456789abcdef0123456789abcdef@culvert-doctor.invalid/1'

export const foreignDsn: Check = {
  name: 'foreign-dsn',
  after: ['tunnel'],
  title: 'The tunnel rejects an envelope for another Sentry',
  verifies: 'The tunnel is not an open relay.',
  remedy: 'Route this path to the tunnel of Culvert, which knows its DSNs, and to no other handler.',
  async run({ run, path, post }) {
    return rejected(await post(reportEnvelope(FOREIGN_DSN, run), { path }), 'dsn-unknown')
  },
}

export const otherQuery: Check = {
  name: 'query',
  after: ['tunnel', 'error'],
  title: 'The tunnel rejects a query for another project',
  verifies:
    'The project in the query is the project of the envelope, so that access logs show the correct project.',
  remedy: 'Let the proxy forward the query unmodified.',
  run: withDsn(async ({ projectId, run, path, post }, dsn) => {
    const query = `p=${projectId === '1' ? '2' : '1'}`
    const response = await post(reportEnvelope(dsn, run), { path: `${path}?${query}` })
    return response.status < 300
      ? fail('The tunnel accepts it: the proxy removes or changes the query.')
      : rejected(response, 'query-mismatch')
  }),
}

export const foreignOrigin: Check = {
  name: 'origin',
  after: ['tunnel'],
  title: 'The tunnel rejects a page of another site',
  verifies: 'Other sites cannot use up your quota through their visitors.',
  remedy:
    'Let the proxy forward Origin and Sec-Fetch-Site unmodified, and list only your own sites in ALLOWED_ORIGINS.',
  run: withDsn(async ({ run, post }, dsn) => {
    const headers = {
      origin: FOREIGN_ORIGIN,
      'sec-fetch-site': 'cross-site',
      referer: `${FOREIGN_ORIGIN}/`,
    }
    const response = await post(reportEnvelope(dsn, run), { headers })
    const allowed = response.headers['access-control-allow-origin']
    if (allowed !== undefined) return fail(`The response allows ${allowed} to read it.`)
    return rejected(response, 'origin-foreign')
  }),
}

const MIN_PREFLIGHT_SECONDS = 600

export const crossOrigin: Check = {
  name: 'cross-origin',
  after: ['tunnel', 'origin'],
  title: 'Pages of ALLOWED_ORIGINS can report',
  verifies:
    'The proxy passes preflight requests and CORS headers on, so that pages of other origins can post and read rate limits.',
  remedy:
    'Let the proxy route OPTIONS as it routes POST, pass Origin and all Access-Control headers on, and add none of its own.',
  run: withAdmin(async (_, deployment) => {
    const [origin] = await allowedOrigins(deployment)
    if (origin === undefined) return pass('ALLOWED_ORIGINS names no other origin.')
    return describePreflight(origin, await preflight(origin, deployment)) ?? judgePost(origin, deployment)
  }),
}

function preflight(origin: string, { site, target }: Deployment): Promise<HttpResponse> {
  const headers = {
    origin,
    'sec-fetch-site': 'cross-site',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  }
  return send(`${site}${target}`, { method: 'OPTIONS', headers })
}

/** Returns the problem of the response to a preflight request, or none. */
function describePreflight(origin: string, response: HttpResponse): Finding | undefined {
  const { status, headers } = response
  if (status >= 300) return fail(`A preflight request of ${origin} is answered with ${summarize(response)}.`)
  if (headers['access-control-allow-origin'] !== origin)
    return fail(
      `A preflight request of ${origin} gets access-control-allow-origin: ${headers['access-control-allow-origin'] ?? 'none'}.`,
    )
  const seconds = Number(headers['access-control-max-age'] ?? 0)
  if (seconds < MIN_PREFLIGHT_SECONDS)
    return warnWith(
      `Browsers keep the response to a preflight request for ${seconds} s.`,
      'Let the proxy pass Access-Control-Max-Age on.',
    )
  return undefined
}

async function judgePost(origin: string, { post }: Deployment): Promise<Finding> {
  const { headers } = await post(PROBE, { headers: { origin, 'sec-fetch-site': 'cross-site' } })
  const exposed = String(headers['access-control-expose-headers'] ?? '')
  if (headers['access-control-allow-origin'] !== origin)
    return fail(
      `A page of ${origin} cannot read the response: access-control-allow-origin is ${headers['access-control-allow-origin'] ?? 'missing'}.`,
    )
  return exposed.includes('x-sentry-rate-limits')
    ? pass(`A page of ${origin} can post and read the response.`)
    : fail(`A page of ${origin} cannot read rate limits: access-control-expose-headers is “${exposed}”.`)
}

/** Judges the response to an envelope that the tunnel should reject with `code`. */
function rejected(response: HttpResponse, code: string): Finding {
  if (response.status < 300) return fail(`The tunnel accepts it: ${response.status}.`)
  if (jsonOf(response).code !== code)
    return warn(`The envelope is rejected, but with ${summarize(response)}, not with ${code}.`)
  return pass(`${response.status} ${code}.`)
}
