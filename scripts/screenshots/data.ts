/** Sites for the screenshots, and the envelopes that fill their pages. */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { INBOX_DSN } from 'contract/dsn'
import { envelopeOf, errorOf } from '../../tests/support/envelopes.ts'
import { type Posting, post } from '../../tests/support/post.ts'
import { captureFor } from '../../tests/support/sdk-captures.ts'
import { readCertificate, startSentry } from '../../tests/support/sentry/sentry.ts'
import { cloud, startSite } from '../../tests/support/site.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { PASSWORD } from '../../tests/support/web/operator.ts'
import { BREAKABLE } from '../../tests/support/web/web.ts'

export type DemoSites = Awaited<ReturnType<typeof startDemoSites>>

/** Segments of a replay. Beside a Sentry, the inbox keeps no replays. */
const REPLAY = ['replay-1', 'replay-2']
const CAPTURES = [
  'error-handled',
  'error-unhandled',
  'rejection',
  'pageload-1',
  ...REPLAY,
  'feedback',
  'logs',
  'metrics',
  'session-1',
]
const STRANGER_DSN = 'https://stranger@o9.ingest.us.sentry.io/9'
const SHOP = { origin: 'https://shop.example', host: 'shop.example' }
const ROUNDS = 80 // seconds: the history stores each minute, and the overview shows an error of Sentry for one
const OUTAGE = { from: 5, to: 10 }
const BLOCKED = 31 // of 100 reach tests

/** Starts a site that forwards to a Sentry, with an inbox beside it, and one in inbox mode. */
export async function startDemoSites() {
  await using starting = new AsyncDisposableStack()
  const sentry = starting.use(await startSentry({ tls: readCertificate() }))
  sentry.allowUnexpected()
  const folder = starting.use(await makeFolder())
  const env = {
    OPERATOR_PASSWORD: PASSWORD,
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    TRUSTED_PROXIES: '127.0.0.1', // visitors have public addresses
    KEEP_HOURS: '168',
    REACH_SAMPLE_RATE: '0.01',
    NODE_OPTIONS: BREAKABLE, // for the error pages
  }
  const { env: settings, reroute } = cloud(sentry, env)
  const site = starting.use(await startSite({ env: settings, reroute, replicas: 2 }))
  const inbox = starting.use(await startSite({ env: { OPERATOR_PASSWORD: PASSWORD }, replicas: 2 }))
  const started = starting.move()
  return {
    sentry,
    site,
    inbox,
    dsn: String(settings.SENTRY_DSN),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Sends envelopes of each kind through an outage, and waits until the history has them. */
export async function fillSites(sites: DemoSites): Promise<void> {
  const { site, inbox, dsn, sentry } = sites
  const url = `http://127.0.0.1:${site.port}`
  for (const name of CAPTURES) await send(url, { body: captureFor(dsn, `browser-11.12.0-${name}`) })
  for (let test = 0; test < 100; test++) {
    const headers = { 'x-forwarded-for': `81.2.70.${test}` } // each address has one result a minute
    await post(url, { path: '/monitoring/reach', body: test < BLOCKED ? 'blocked' : 'reachable', headers })
  }
  await send(url, {
    body: errorOf(STRANGER_DSN),
    headers: SHOP,
  })
  await send(url, { body: '{"dsn":' })
  for (let round = 0; round < ROUNDS; round++) {
    if (round === OUTAGE.from) await sentry.away()
    if (round === OUTAGE.to) await sentry.back()
    for (let n = 0; n <= round % 5; n++) await send(url, { body: checkoutError(dsn), headers: SHOP })
    await wait(1_000)
  }
  const inboxUrl = `http://127.0.0.1:${inbox.port}`
  for (const name of REPLAY) await send(inboxUrl, { body: captureFor(INBOX_DSN, `browser-11.12.0-${name}`) })
  await send(inboxUrl, { body: checkoutError(INBOX_DSN) })
}

/** Posts as a visitor with a public address. */
function send(url: string, { headers, ...posting }: Posting) {
  const address = `81.2.69.${Math.ceil(Math.random() * 200)}`
  return post(url, { ...posting, headers: { ...headers, 'x-forwarded-for': address } })
}

/** Makes Sentry unreachable, also a simulated one, and leaves envelopes in the spools. */
export async function beginOutage({ site, inbox, sentry, dsn }: DemoSites): Promise<void> {
  await sentry.away()
  await inbox.tunnels[0]?.admin('/inbox/outage?seconds=180', { method: 'POST' })
  for (let n = 0; n < 5; n++) await send(`http://127.0.0.1:${inbox.port}`, { body: checkoutError(INBOX_DSN) })
  for (let n = 0; n < 12; n++) await send(`http://127.0.0.1:${site.port}`, { body: checkoutError(dsn) })
}

/** Builds the error of a shop, with what a browser's SDK reports. */
function checkoutError(dsn: string): Buffer {
  const now = Date.now() / 1000
  const eventId = randomUUID().replaceAll('-', '')
  const frame = (fn: string, file: string, line: number, text: string) => ({
    ...{ function: fn, filename: `app:///${file}`, lineno: line, colno: 23, in_app: true },
    ...{ pre_context: ['', `export function ${fn}(cart) {`], context_line: text, post_context: ['}', ''] },
  })
  const crumb = (age: number, category: string, message: string) => ({
    ...{ timestamp: now - age, category, message, level: 'info' },
  })
  const event = {
    ...{ event_id: eventId, timestamp: now, platform: 'javascript', level: 'error' },
    ...{ environment: 'production', release: 'shop@2.4.1', transaction: '/checkout' },
    user: { id: `u-${Math.ceil(Math.random() * 40)}` },
    tags: { payment: 'card', country: 'NL' },
    request: { url: 'https://shop.example/checkout', headers: { 'User-Agent': 'Mozilla/5.0 Firefox/153.0' } },
    contexts: { browser: { name: 'Firefox', version: '153.0' }, os: { name: 'Linux' } },
    exception: {
      values: [
        {
          type: 'TypeError',
          value: "Cannot read properties of undefined (reading 'price')",
          mechanism: { type: 'auto.browser.global_handlers.onerror', handled: false },
          stacktrace: {
            frames: [
              frame('submit', 'src/checkout/form.ts', 88, '  const total = sumUp(cart.lines)'),
              frame(
                'sumUp',
                'src/checkout/total.ts',
                12,
                '  return lines.reduce((sum, line) => sum + priceOf(line), 0)',
              ),
              frame('priceOf', 'src/checkout/price.ts', 7, '  return line.product.price * line.count'),
            ],
          },
        },
      ],
    },
    breadcrumbs: [
      crumb(14, 'navigation', '/cart to /checkout'),
      crumb(9, 'ui.input', 'form > input[name="voucher"]'),
      crumb(4, 'fetch', 'POST /api/voucher [200]'),
      crumb(0.2, 'ui.click', 'form > button.pay'),
    ],
  }
  const header = {
    event_id: eventId,
    dsn,
    sent_at: new Date().toISOString(),
    sdk: { name: 'sentry.javascript.browser', version: '11.12.0' },
  }
  return envelopeOf(header, [{ header: { type: 'event' }, payload: JSON.stringify(event) }])
}
