/** Whatever the error lab raises tells itself apart from what breaks by itself. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Chromium, startChromium } from '../support/browser/chromium.ts'
import { labUrl } from '../support/browser/lab.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, type Item, type Received } from '../support/sentry/received-request.ts'
import { readCertificate, type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { cloud, type Site, startSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const BUTTONS = [
  'Throw an error',
  'Trace slow work',
  'Write logs',
  'Count metrics',
  'Send feedback',
  'Record a replay',
  'Fail in a route handler',
  'Fail in a server action',
]

describe('With `environment: lab`', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let site: Site
  let chromium: Chromium

  beforeAll(async () => {
    sentry = started.use(await startSentry({ tls: readCertificate() }))
    const { env, reroute } = cloud(sentry)
    const settings = {
      ...env,
      SENTRY_ENVIRONMENT: 'staging',
      SENTRY_RELEASE: 'shop@1.2.3', // without one there are no sessions
      SENTRY_TRACES_SAMPLE_RATE: '1',
      SENTRY_LOGS: 'on',
      SENTRY_METRICS: 'on',
    }
    site = started.use(await startSite({ env: settings, reroute }))
    chromium = started.use(await startChromium())
  })

  afterAll(() => started.disposeAsync())

  it('comes all that a visit of the lab leaves, from the browser and from the server', async () => {
    await using visitor = await chromium.visitor()
    const { page } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown/)
    visitor.expectTrouble(/status of 500/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await page.goto(`${site.url}/lab`, { waitUntil: 'networkidle' })
    for (const name of BUTTONS) {
      await page.getByRole('button', { name }).click()
      const outcome = page.getByRole('listitem', { name }).getByRole('status')
      await outcome.filter({ hasText: 'accepted by this site (200)' }).waitFor()
    }
    await page.goto(`${site.url}/lab`) // what was measured is told as its page closes
    const kinds = [
      'event',
      'feedback',
      'log',
      'replay_event',
      'session',
      'span',
      'trace_metric',
      'transaction',
    ]
    await until(async () => kinds.every((kind) => sentry.requests.some(hasItem(kind))))
    const told = sentry.requests.flatMap(environmentsIn)
    expect(told.filter(({ environment }) => environment !== 'lab')).toEqual([])
  })

  it('comes what breaks in place of a page whose server component has failed', async () => {
    await using visitor = await chromium.visitor()
    const { page } = visitor
    visitor.expectTrouble(/status of 500/)
    visitor.expectTrouble(/Minified|Server Components render/)
    visitor.expectTrouble(/uncaught Error: after the page/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await page.goto(await labUrl(page, site.url, 'Fail in a server component', '/lab/server-component'))
    await page.getByRole('heading', { name: 'Application error: a server-side exception' }).waitFor()
    await page.evaluate(
      () =>
        void setTimeout(() => {
          throw new Error('after the page')
        }),
    )
    const { items } = await sentry.next(({ body, decoded }) => (decoded ?? body).includes('after the page'))
    const event = items.find(({ header }) => header.type === 'event')
    expect(JSON.parse(String(event?.payload))).toMatchObject({ environment: 'lab', release: 'shop@1.2.3' })
  })
})

type Told = { type: string; environment: unknown }

/** What an envelope says of where it comes from: its trace, and each of its items. */
function environmentsIn({ header, items }: Received): Told[] {
  const trace = header.trace as { environment?: string } | undefined
  return [
    ...(trace ? [{ type: 'trace', environment: trace.environment }] : []),
    ...items.flatMap(environmentsOf),
  ]
}

function environmentsOf({ header, payload }: Item): Told[] {
  const type = String(header.type)
  if (/^(event|transaction|feedback|replay_event)$/.test(type))
    return [{ type, environment: JSON.parse(String(payload)).environment }]
  if (type === 'session') return [{ type, environment: JSON.parse(String(payload)).attrs.environment }]
  if (!/^(log|span|trace_metric)$/.test(type)) return []
  const { items } = JSON.parse(String(payload)) as {
    items: { attributes: Record<string, { value: unknown }> }[]
  }
  return items.map(({ attributes }) => ({ type, environment: attributes['sentry.environment']?.value }))
}
