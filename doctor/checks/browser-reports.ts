/** Checks the endpoint of browser reports, and the headers that ask browsers for them. */

import { type Check, fail, pass } from '../check.ts'
import { type HttpResponse, jsonOf, summarize } from '../request.ts'

/** Empty batch, which no browser sends: a tunnel rejects it, and nothing is forwarded. */
const EMPTY_BATCH = Buffer.from('[]')

export const browserReports: Check = {
  name: 'browser-reports',
  after: ['tunnel'],
  title: 'Browser reports reach a tunnel',
  verifies:
    'Reports of browsers, such as CSP violations, arrive at the URLs that the headers of the page name, or else below the tunnel path.',
  remedy:
    'Route the tunnel path with /reports to the tunnel, forward Content-Type unmodified, and name this URL in the headers (docs/browser-reports.md).',
  async run({ page, site, path, post }) {
    const named = page ? reportPaths(page, site) : []
    for (const each of named.length > 0 ? named : [`${path}/reports`]) {
      const headers = { 'content-type': 'application/reports+json' }
      const response = await post(EMPTY_BATCH, { path: each, headers })
      if (jsonOf(response).code !== 'report-malformed')
        return fail(`${each} responds with ${summarize(response)} to an empty batch, unlike a tunnel.`)
    }
    return pass(
      named.length > 0
        ? `The page asks browsers to report to ${named.join(' and ')}.`
        : 'They are accepted. The page does not ask browsers for any.',
    )
  },
}

/** Returns path and query of each URL of this site that the headers of the page name. */
function reportPaths({ headers }: HttpResponse, site: string): string[] {
  const texts = [
    ...reportUris(headers['content-security-policy']),
    ...reportUris(headers['content-security-policy-report-only']),
    ...allMatches(headers['reporting-endpoints'], /="([^"]*)"/g),
    ...allMatches(headers['report-to'], /"url"\s*:\s*"([^"]*)"/g),
  ]
  const urls = texts.flatMap((text) => URL.parse(text, site) ?? [])
  const own = urls.filter(({ host }) => host === new URL(site).host)
  return [...new Set(own.map(({ pathname, search }) => pathname + search))]
}

function reportUris(policy: string | string[] | undefined): string[] {
  return allMatches(policy, /(?:^|;)\s*report-uri ([^;]*)/gi).flatMap((uris) => uris.trim().split(/\s+/))
}

function allMatches(header: string | string[] | undefined, pattern: RegExp): string[] {
  return [...String(header ?? '').matchAll(pattern)].flatMap(([, found]) => found ?? [])
}
