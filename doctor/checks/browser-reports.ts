/** Checks the endpoint of browser reports, and the headers that ask browsers for them. */

import { type Check, fail, pass, warn } from '../check.ts'
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
    'Route the tunnel path with /reports to the tunnel, forward Content-Type unmodified, and name this URL in the headers (docs/install.md).',
  async run({ page, site, path, post }) {
    const named = page ? reportPaths(page, site) : []
    for (const each of named.length > 0 ? named : [`${path}/reports`]) {
      const headers = { 'content-type': 'application/reports+json' }
      const response = await post(EMPTY_BATCH, { path: each, headers })
      if (jsonOf(response).code !== 'report-malformed')
        return fail(`${each} responds with ${summarize(response)} to an empty batch, unlike a tunnel.`)
    }
    const problem = page && describeHeaders(page, site)
    if (problem) return warn(problem)
    return pass(
      named.length > 0
        ? `The page asks browsers to report to ${named.join(' and ')}.`
        : 'A tunnel accepts reports. The page does not ask browsers for any.',
    )
  },
}

/** Returns path and query of each URL of this site that the headers of the page name. */
function reportPaths(page: HttpResponse, site: string): string[] {
  const own = reportUrls(page, site).filter(({ host }) => host === new URL(site).host)
  return [...new Set(own.map(({ pathname, search }) => pathname + search))]
}

function reportUrls({ headers }: HttpResponse, site: string): URL[] {
  const texts = [
    ...reportUris(headers['content-security-policy']),
    ...reportUris(headers['content-security-policy-report-only']),
    ...allMatches(headers['reporting-endpoints'], /="([^"]*)"/g),
    ...allMatches(headers['report-to'], /"url"\s*:\s*"([^"]*)"/g),
  ]
  return texts.flatMap((text) => URL.parse(text, site) ?? [])
}

/** Returns the first problem with the headers, for which browsers send no reports, or send them where blockers stop them. */
function describeHeaders(page: HttpResponse, site: string): string | undefined {
  const { headers } = page
  for (const name of ['report-to', 'nel'])
    if (headers[name] !== undefined && !isJson(`[${headers[name]}]`))
      return `The header ${name} is not JSON, so that browsers ignore it.`
  const groups = allMatches(headers['report-to'], /"group"\s*:\s*"([^"]*)"/g)
  const endpoints = allMatches(headers['reporting-endpoints'], /([\w*.-]+)="/g)
  const [group] = allMatches(headers.nel, /"report_to"\s*:\s*"([^"]*)"/g)
  if (group !== undefined && !groups.includes(group))
    return `The header nel names the group ${group}, which report-to does not define.`
  for (const name of ['content-security-policy', 'content-security-policy-report-only'])
    for (const endpoint of allMatches(headers[name], /(?:^|;)\s*report-to ([^;\s]+)/gi))
      if (![...endpoints, ...groups].includes(endpoint))
        return `The header ${name} names the endpoint ${endpoint}, which reporting-endpoints does not define.`
  const foreign = reportUrls(page, site).find(({ host }) => host !== new URL(site).host)
  return (
    foreign && `The page asks browsers to report to ${foreign.host}, another host, which blockers may stop.`
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function reportUris(policy: string | string[] | undefined): string[] {
  return allMatches(policy, /(?:^|;)\s*report-uri ([^;]*)/gi).flatMap((uris) => uris.trim().split(/\s+/))
}

function allMatches(header: string | string[] | undefined, pattern: RegExp): string[] {
  return [...String(header ?? '').matchAll(pattern)].flatMap(([, found]) => found ?? [])
}
