/** Errors of a browser while Sentry is away: no request of the page fails, and Sentry gets them later. */

import type { Page, Request } from 'playwright-core'
import { describe, expect } from 'vitest'
import { SITE_HOST, type Visitor } from '../support/browser/chromium.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { eventOf, parseEnvelope, type Received } from '../support/sentry/received-request.ts'
import { cloud } from '../support/site.ts'

const BREAKAGES = [
  { what: 'thrown error', button: 'Throw an error', value: /^Thrown on purpose/ },
  { what: 'rejected promise', button: 'Reject a promise', value: /^Rejected on purpose/ },
]

const it = base
  .extend('siteOptions', perFile, ({ sentry }) =>
    cloud(sentry, { SENTRY_FEEDBACK: 'on', SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE: '1' }),
  )
  .extend('chromiumOptions', perFile, { screenshots: true })

describe('While Sentry is away, the site', requires('chromium', 'nginx'), () => {
  it.for(BREAKAGES)(
    'accepts a $what without a failed request, and delivers it when Sentry is back',
    async ({ button, value }, { sentry, site, visitor }) => {
      await sentry.away()
      visitor.expectTrouble(/uncaught Error: (Thrown|Rejected) on purpose/) // no failed request is expected
      await visitor.page.goto(`http://${SITE_HOST}:${site.port}/lab`)
      await visitor.page.getByRole('button', { name: button }).click()
      await visitor.page.getByText('spooled by this site, delivered later').waitFor()
      const posted = visitor.posts.find((each) => value.test(raisedIn(each.postDataBuffer()) ?? ''))
      const answer = await posted?.response()
      if (!posted || !answer) throw new Error('nothing was posted')
      expect(answer.status()).toBe(200)
      expect(answer.headers()).toMatchObject({ 'x-culvert-outcome': 'spooled' })
      expect(answer.headers()).not.toHaveProperty('retry-after')

      await sentry.back()
      const isIt = ({ body }: Received) => value.test(raisedIn(body) ?? '')
      const received = await sentry.next(isIt)
      expect(received.header.event_id).toBe((await answer.json()).id)
      expect(withoutTime(received.body)).toEqual(withoutTime(posted.postDataBuffer() ?? Buffer.alloc(0)))
      expect(sentry.requests.filter(isIt)).toHaveLength(1)
    },
  )

  it('accepts a feedback with a screenshot and a replay, and delivers both when Sentry is back', async ({
    sentry,
    site,
    visitor,
  }) => {
    await sentry.away()
    const { page, posts } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/) // no failed request is expected
    await page.goto(`http://127.0.0.1:${site.port}/lab`) // Chromium allows screenshots only on this origin
    await page.getByRole('button', { name: 'Report a problem' }).click()
    await page.getByLabel('Description').fill('The basket is empty')
    await addScreenshot(page)
    await page.getByRole('button', { name: 'Send report' }).click()
    await page.getByText('Thank you').waitFor()
    await replayed(visitor, 0)
    await page.getByRole('button', { name: 'Throw an error' }).click()
    await replayed(visitor, 1)

    const envelopes = posts.map((post) => post.postDataBuffer() ?? Buffer.alloc(0))
    const outcomes = await Promise.all(
      posts.map(async (post) => (await post.response())?.headers()['x-culvert-outcome']),
    )
    expect(new Set(outcomes)).toEqual(new Set(['spooled']))
    const kinds = envelopes.map((body) =>
      parseEnvelope(body)
        .items.map(({ header }) => header.type)
        .join(),
    )
    expect(kinds).toEqual(
      expect.arrayContaining(['feedback,attachment', 'event', 'replay_event,replay_recording']),
    )

    await sentry.back()
    const missing = new Set(envelopes.map(withoutTime))
    while (missing.size > 0) missing.delete(withoutTime((await sentry.next()).body))
  })
})

/** Adds a screenshot to the feedback. The page is painted all the time: Chromium sometimes captures nothing of one that is not. */
async function addScreenshot(page: Page): Promise<void> {
  await page.evaluate(() => {
    document.body.animate({ opacity: [0.99, 1] }, { duration: 100, iterations: Infinity })
  })
  await page.getByRole('button', { name: 'Add a screenshot' }).click()
  await page.getByRole('button', { name: 'Remove screenshot' }).waitFor()
}

/** Resolves when a segment of the page's replay has a response. */
async function replayed({ page, posts }: Visitor, segment: number): Promise<void> {
  const isIt = (post: Request) => segmentsIn(post.postDataBuffer()).includes(segment)
  const post = posts.find(isIt) ?? (await page.waitForRequest(isIt))
  await post.response()
}

/** Returns the segment numbers of a replay in an envelope. */
function segmentsIn(body: Buffer | null): number[] {
  const items = body ? parseEnvelope(body).items : []
  return items
    .filter(({ header }) => header.type === 'replay_event')
    .map(({ payload }) => JSON.parse(String(payload)).segment_id)
}

/** Returns the message of an event's first exception. */
function raisedIn(body: Buffer | null): string | undefined {
  return body ? eventOf(parseEnvelope(body))?.exception?.values?.[0]?.value : undefined
}

/** Compares two envelopes, which may differ in `sent_at` only. */
function withoutTime(body: Buffer): string {
  return body.toString('latin1').replace(/"sent_at":"[^"]*"/, '"sent_at":""')
}
