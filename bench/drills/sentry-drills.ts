/** Drills in which Sentry, or the connection to it, fails. */

import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { NODE, ROOT } from '../../tests/support/node.ts'
import { type Drill, declareDrill, type Sign } from './drill.ts'
import { CA_FILE, type Site } from './site.ts'

/** Requests that two tunnels may have in flight: each may be sent again when its connection is cut. */
export const CUT = 2 * 64

const FLAPS = 5
const FLAP_MS = 1_000

const BREAKER: readonly Sign[] = [
  { source: 'log', shows: /"msg":"circuit breaker opened"/, words: 'log `circuit breaker opened`' },
  {
    source: 'metrics',
    shows: /^culvert_upstream_breaker_open\{[^}]*\} 1$/m,
    words: '`culvert_upstream_breaker_open`',
  },
]

export const SENTRY_DRILLS: readonly Drill[] = [
  declareDrill({
    name: 'sentry-down',
    title: 'Sentry down and back',
    fault: (site) => site.takeSentryAway(),
    repair: (site) => site.bringSentryBack(),
    signs: [lastError('connect'), ...BREAKER],
    remedy: 'wait: delivery resumes when Sentry answers',
    bounds: { lost: 0, duplicates: CUT, notAccepted: 0 },
  }),
  declareDrill({
    name: 'sentry-flapping',
    title: 'Sentry flapping, 1 s down and 1 s up',
    seconds: 0,
    async fault(site) {
      for (let n = 0; n < FLAPS; n++) {
        await site.takeSentryAway()
        await sleep(FLAP_MS)
        await site.bringSentryBack()
        await sleep(FLAP_MS)
      }
    },
    repair: async () => {},
    signs: [lastError('connect|reset')],
    remedy: 'wait',
    bounds: { lost: 0, duplicates: FLAPS * CUT, notAccepted: 0 },
  }),
  declareDrill({
    name: 'sentry-slow',
    title: 'Sentry slow, 5 s per response',
    fault: async (site) => site.answer({ delayMs: 5_000 }),
    repair: async (site) => site.answer({}),
    signs: BREAKER,
    remedy: "wait; look at Sentry's status page",
    bounds: { lost: 0, duplicates: 0, notAccepted: 0 },
  }),
  declareDrill({
    name: 'sentry-limiting',
    title: 'Sentry rate-limiting errors',
    fault: async (site) =>
      site.answer({
        status: 429,
        headers: { 'x-sentry-rate-limits': '5:error:organization', 'retry-after': '5' },
        body: { detail: 'Sentry dropped data due to a quota or internal rate limit being reached.' },
      }),
    repair: async (site) => site.answer({}),
    signs: [
      { source: 'response', shows: /^429/m, words: 'response 429 with `X-Sentry-Rate-Limits`' },
      { source: 'status', shows: /"limits":\[\{/, words: '`/status` `limits`' },
      {
        source: 'metrics',
        shows: /^culvert_upstream_rate_limits\{[^}]*\} [1-9]/m,
        words: '`culvert_upstream_rate_limits`',
      },
    ],
    remedy: 'raise the quota in Sentry, or send less',
    bounds: { lost: 0, duplicates: 0 },
  }),
  declareDrill({
    name: 'dns-gone',
    title: "Sentry's name does not resolve",
    route: 'name',
    fault: async ({ stack, forwarder }) => void (await stack.docker('kill', forwarder)),
    repair: async ({ stack, forwarder }) => void (await stack.docker('start', forwarder)),
    signs: [lastError('dns'), ...BREAKER],
    remedy: 'repair the resolver of the containers',
    bounds: { lost: 0, duplicates: CUT, notAccepted: 0 },
  }),
]

/** Runs last on its site: from then on, the running tunnels have a setting that the others lack. */
export const CERTIFICATE_DRILL = declareDrill({
  name: 'self-signed',
  title: 'Sentry with a self-signed certificate',
  route: 'tls',
  fault: async () => {},
  repair: (site) => deploy(site, { CA_FILE }),
  signs: [lastError('tls'), ...BREAKER],
  remedy: 'set `CA_FILE`, then `npm run deploy`',
  bounds: { lost: 0, duplicates: 0, notAccepted: 0 },
})

/** Runs `npm run deploy`, and adds what it prints to the site's output. Rejects when it fails. */
export async function deploy(
  site: Site,
  settings: Record<string, string>,
  ...flags: string[]
): Promise<void> {
  const options = { cwd: ROOT, env: { ...site.stack.env, ...settings } }
  const { stdout } = await promisify(execFile)(NODE, ['scripts/deploy.ts', ...flags], options)
  site.output.push(stdout)
}

function lastError(classes: string): Sign {
  const shows = new RegExp(`"last_error":\\{"class":"(${classes})"`)
  return {
    source: 'status',
    shows,
    words: `\`/status\` \`last_error\`: \`${classes.replace('|', '` or `')}\``,
  }
}
