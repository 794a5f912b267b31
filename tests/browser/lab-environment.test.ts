/** Environment of reports from the error lab, which separates them from real errors. */

import { describe, expect } from 'vitest'
import { it as base } from '../support/browser/fixtures.ts'
import { labUrl } from '../support/browser/lab.ts'
import { waitForSdk, waitForTracing } from '../support/browser/web-sdk.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, type Item, type Received } from '../support/sentry/received-request.ts'
import { cloud } from '../support/site.ts'
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

const it = base.extend('siteOptions', perFile, ({ sentry }) =>
  cloud(sentry, {
    SENTRY_ENVIRONMENT: 'staging',
    SENTRY_RELEASE: 'shop@1.2.3', // without one there are no sessions
    SENTRY_TRACES_SAMPLE_RATE: '1',
  }),
)

describe('The environment "lab"', requires('chromium', 'nginx'), () => {
  it('is set in all reports of a visit to the error lab, from browser and server', async ({
    sentry,
    site,
    visitor,
  }) => {
    const { page } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown/)
    visitor.expectTrouble(/status of 500/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await page.goto(`${site.url}/lab`)
    await waitForTracing(page)
    for (const name of BUTTONS) {
      await page.getByRole('button', { name }).click()
      const outcome = page.getByRole('listitem', { name }).getByRole('status')
      await outcome.filter({ hasText: 'accepted by this site (200)' }).waitFor()
    }
    await page.goto(`${site.url}/lab`) // web vitals are reported when the page closes
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
    const reported = sentry.requests.flatMap(environmentsIn)
    expect(reported.filter(({ environment }) => environment !== 'lab')).toEqual([])
  })

  it('is set in reports of the error page of a failed server component', async ({
    sentry,
    site,
    visitor,
  }) => {
    const { page } = visitor
    visitor.expectTrouble(/status of 500/)
    visitor.expectTrouble(/Minified|Server Components render/)
    visitor.expectTrouble(/uncaught Error: after the page/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await page.goto(await labUrl(page, site.url, 'Fail in a server component', '/lab/server-component'))
    await page.getByText('Application error: a server-side exception').waitFor()
    await waitForSdk(page)
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

/** Returns the trace of an envelope, and the environment and release of each item. */
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
