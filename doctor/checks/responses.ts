/** What the tunnel's answers do to a page, and what they give away. */

import { type Check, type Finding, fail, pass, warn } from '../check.ts'
import type { Answer } from '../request.ts'
import { answersProbe, PROBE } from './routes.ts'

const LOOKS = 9
const SLOW = 1_000 // ms; after twice that a tunnel would not wait for Sentry itself
const AT_ONCE = 40 // what one page may have under way: the buffer of the browser SDK's transport

export const time: Check = {
  name: 'time',
  after: ['tunnel'],
  title: 'It answers in time',
  proves: 'A report is gone before its page is: browsers keep few of them for pages that are left.',
  remedy: 'Bring the front nearer, keep connections to the tunnel alive, and look at the tunnel’s CPU.',
  async examine({ post }) {
    const took: number[] = []
    for (let look = 0; look < LOOKS; look++) took.push((await post(PROBE)).took)
    const sorted = took.sort((a, b) => a - b)
    const median = sorted[Math.floor(LOOKS / 2)] ?? 0
    const says = `Of ${LOOKS} probes the median took ${median.toFixed(0)} ms, the slowest ${sorted.at(-1)?.toFixed(0)} ms.`
    return median > SLOW ? warn(says) : pass(says)
  },
}

export const burst: Check = {
  name: 'burst',
  after: ['tunnel'],
  title: 'A page in trouble is not turned away',
  proves: `The front lets ${AT_ONCE} posts at once of one visitor through: an error comes seldom alone.`,
  remedy:
    'Leave limits to the tunnel, or set those of the front to four times its ADDRESS_RATE and ADDRESS_BURST.',
  async examine({ post }) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => post(PROBE)))
    const [refused] = answers.filter((answer) => !answersProbe(answer))
    const count = answers.filter((answer) => !answersProbe(answer)).length
    return refused
      ? fail(`${count} of ${AT_ONCE} are not taken: ${refused.status}.`)
      : pass(`All ${AT_ONCE} are taken.`)
  },
}

export const silence: Check = {
  name: 'silence',
  title: 'No answer silences an SDK',
  proves:
    'A 429 names what to hold back; a bare one, or Retry-After, stops all reports of the page, errors included.',
  remedy:
    'Let the front answer with X-Sentry-Rate-Limits that names categories where it says 429, and never with Retry-After on anything.',
  examine({ posted }) {
    const silencing = posted.map(({ answer }) => sayHowItSilences(answer)).find((says) => says !== undefined)
    return silencing === undefined ? pass(`None of ${posted.length} answers does.`) : fail(silencing)
  },
}

function sayHowItSilences({ status, headers }: Answer): string | undefined {
  const limits = headers['x-sentry-rate-limits']
  if (status === 429 && limits === undefined) return 'One is a bare 429.'
  if (typeof limits === 'string' && /(^|,)\s*\d+::/.test(limits))
    return `One holds back everything: ${limits}.`
  if (headers['retry-after'] !== undefined && status !== 429) return `One is ${status} with Retry-After.`
  return undefined
}

export const headers: Check = {
  name: 'headers',
  title: 'Headers give nothing away',
  proves: 'Answers set no cookie, name no versions and no inner addresses, and no other site may read them.',
  remedy:
    'Remove the header in the front (nginx: proxy_hide_header, server_tokens off, no add_header of your own here).',
  examine({ posted, page }) {
    const findings = [...posted.map(({ answer }) => answer), ...(page ? [page] : [])].flatMap(leaksOf)
    return findings.find(({ result }) => result === 'fail') ?? findings[0] ?? pass('None does.')
  },
}

const MAY_NAME_HOSTS = new Set(['location', 'content-security-policy']) // where this site is tried, or its Sentry, inside
const INNER_ADDRESS = /\b(10\.\d+|127\.0|192\.168|172\.(1[6-9]|2\d|3[01]))\.\d+\.\d+\b/

function leaksOf({ headers }: Answer): Finding[] {
  const findings: Finding[] = []
  if (headers['set-cookie'] && headers['x-culvert-receipt'])
    findings.push(fail('A tunnel’s answer sets a cookie.'))
  if (headers['access-control-allow-origin'] === '*')
    findings.push(fail('Any site may read the answers (access-control-allow-origin: *).'))
  for (const [name, value] of Object.entries(headers)) {
    if (/^(server|via)$/.test(name) && /\d+\.\d+/.test(String(value)))
      findings.push(warn(`${name} names a version: ${value}.`))
    if (name === 'x-powered-by') findings.push(warn(`x-powered-by names software: ${value}.`))
    if (!MAY_NAME_HOSTS.has(name) && INNER_ADDRESS.test(String(value)))
      findings.push(warn(`${name} names an inner address.`))
  }
  return findings
}
