/** Checks the duration, the rate limits and the headers of the tunnel's responses. */

import { type Check, type Finding, fail, pass, warn } from '../check.ts'
import type { HttpResponse } from '../request.ts'
import { acceptsProbe, PROBE } from './routes.ts'

const SAMPLES = 9
const SLOW_MS = 1_000 // a tunnel waits twice as long for Sentry before it spools
const BURST = 40 // pending requests of one page: the buffer of the browser SDK's transport

export const responseTime: Check = {
  name: 'response-time',
  after: ['tunnel'],
  title: 'The tunnel responds quickly',
  verifies: 'Reports are sent before the page closes. After that, a browser continues only a few requests.',
  remedy: 'Move the proxy closer to the visitors, keep connections to the tunnel alive, and check its CPU.',
  async run({ post }) {
    const durations: number[] = []
    for (let i = 0; i < SAMPLES; i++) durations.push((await post(PROBE)).durationMs)
    durations.sort((a, b) => a - b)
    const median = durations[Math.floor(SAMPLES / 2)] ?? 0
    const max = durations.at(-1) ?? 0
    const message = `p50 ${median.toFixed(0)} ms, maximum ${max.toFixed(0)} ms of ${SAMPLES} probes.`
    return median > SLOW_MS ? warn(message) : pass(message)
  },
}

export const burst: Check = {
  name: 'burst',
  after: ['tunnel'],
  title: 'The proxy accepts a burst of reports',
  verifies: `The proxy accepts ${BURST} concurrent posts of one visitor: a page with errors sends many at once.`,
  remedy:
    'Leave rate limits to the tunnel, or set those of the proxy to four times ADDRESS_RATE, with a burst of ten seconds.',
  async run({ post }) {
    const responses = await Promise.all(Array.from({ length: BURST }, () => post(PROBE)))
    const rejected = responses.filter((response) => !acceptsProbe(response))
    const isBare = rejected.some(({ status, headers }) => status === 429 && !headers['x-sentry-rate-limits'])
    return rejected[0]
      ? fail(
          `${rejected.length} of ${BURST} are rejected with ${isBare ? 'a bare ' : ''}${rejected[0].status}.`,
        )
      : pass(`All ${BURST} are accepted.`)
  },
}

export const rateLimits: Check = {
  name: 'rate-limits',
  after: ['proxy', 'burst'],
  title: 'No response stops all reports of an SDK',
  verifies:
    'Each 429 names the rate-limited data categories. A bare 429, or Retry-After, stops all reports of a page, errors included.',
  remedy:
    'Let the proxy add X-Sentry-Rate-Limits with categories to its 429 responses, and Retry-After to no response.',
  run({ posts }) {
    const messages = posts.flatMap(({ response }) => describeSilencing(response) ?? [])
    return messages[0] === undefined
      ? pass(`None of ${posts.length} responses stops an SDK.`)
      : fail(messages[0])
  },
}

/** Returns how a response stops an SDK from sending; `undefined` when it does not. */
function describeSilencing({ status, headers }: HttpResponse): string | undefined {
  const limits = headers['x-sentry-rate-limits']
  if (status === 429 && limits === undefined) return 'A response is a bare 429.'
  if (typeof limits === 'string' && /(^|,)\s*\d+::/.test(limits))
    return `A response rate-limits all categories: ${limits}.`
  if (headers['retry-after'] !== undefined && status !== 429)
    return `A response is ${status} with Retry-After.`
  return undefined
}

export const headers: Check = {
  name: 'headers',
  after: ['proxy'],
  title: 'Headers disclose nothing',
  verifies:
    'Responses contain no cookie, no software version and no internal address, and pages of other sites cannot read them.',
  remedy: 'Remove the header in the proxy, for example with proxy_hide_header or server_tokens off.',
  run({ posts, page }) {
    const responses = [...posts.map(({ response }) => response), ...(page ? [page] : [])]
    const findings = responses.flatMap(disclosures)
    return findings.find(({ result }) => result === 'fail') ?? findings[0] ?? pass('They disclose nothing.')
  },
}

const MAY_NAME_HOSTS = new Set(['location', 'content-security-policy']) // the site, or its Sentry, may be internal
const INTERNAL_ADDRESS = /\b(10\.\d+|127\.0|192\.168|172\.(1[6-9]|2\d|3[01]))\.\d+\.\d+\b/

function disclosures({ headers }: HttpResponse): Finding[] {
  const findings: Finding[] = []
  if (headers['set-cookie'] && headers['x-culvert-receipt'])
    findings.push(fail('A response of a tunnel sets a cookie.'))
  if (headers['access-control-allow-origin'] === '*')
    findings.push(fail('All sites can read the responses (access-control-allow-origin: *).'))
  for (const [name, value] of Object.entries(headers)) {
    if (/^(server|via)$/.test(name) && /\d+\.\d+/.test(String(value)))
      findings.push(warn(`${name} names a version: ${value}.`))
    if (name === 'x-powered-by') findings.push(warn(`x-powered-by names software: ${value}.`))
    if (!MAY_NAME_HOSTS.has(name) && INTERNAL_ADDRESS.test(String(value)))
      findings.push(warn(`${name} names an internal address.`))
  }
  return findings
}
