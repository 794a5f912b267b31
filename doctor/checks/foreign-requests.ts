/** Checks that the tunnel rejects envelopes of other sites and for other projects. */

import { type Check, type Finding, fail, pass, warn, withDsn } from '../check.ts'
import { reportEnvelope } from '../envelopes.ts'
import { type HttpResponse, jsonOf, summarize } from '../request.ts'

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
    return rejected(await post(reportEnvelope(dsn, run), { path: `${path}?${query}` }), 'query-mismatch')
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

/** Judges the response to an envelope that the tunnel should reject with `code`. */
function rejected(response: HttpResponse, code: string): Finding {
  if (response.status < 300) return fail(`The tunnel accepts it: ${response.status}.`)
  if (jsonOf(response).code !== code)
    return warn(`The envelope is rejected, but with ${summarize(response)}, not with ${code}.`)
  return pass(`${response.status} ${code}.`)
}
