/** What breaks in a real browser while Sentry is away: the page notices nothing, and it arrives when Sentry is back. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Chromium, SITE_HOST, startChromium } from '../helpers/chromium.ts'
import { parseEnvelope, type Received } from '../helpers/received.ts'
import { requires } from '../helpers/requirements.ts'
import { readCertificate, type Sentry, startSentry } from '../helpers/sentry.ts'
import { cloud, type Site, startSite } from '../helpers/site.ts'

const BREAKAGES = [
  { what: 'thrown error', button: 'Throw an error', value: /^Thrown on purpose/ },
  { what: 'rejected promise', button: 'Reject a promise', value: /^Rejected on purpose/ },
]

describe('With Sentry away', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let site: Site
  let chromium: Chromium

  beforeAll(async () => {
    sentry = started.use(await startSentry({ tls: readCertificate() }))
    site = started.use(await startSite(cloud(sentry)))
    chromium = started.use(await startChromium())
  })

  afterAll(() => started.disposeAsync())

  it.each(BREAKAGES)(
    'a $what is taken without one failed request, and arrives when Sentry is back',
    async ({ button, value }) => {
      await sentry.away()
      await using visitor = await chromium.visitor()
      visitor.expectTrouble(/uncaught Error: (Thrown|Rejected) on purpose/) // and no other: no failed request
      await visitor.page.goto(`http://${SITE_HOST}:${site.port}`)
      await visitor.page.getByRole('button', { name: button }).click()
      await visitor.page.getByText('kept by this site, and delivered later (202)').waitFor()
      const posted = visitor.posts.find((each) => value.test(raisedIn(each.postDataBuffer()) ?? ''))
      const answer = await posted?.response()
      if (!posted || !answer) throw new Error('nothing was posted')
      expect(answer.status()).toBe(202)
      expect(answer.headers()).not.toHaveProperty('retry-after')

      await sentry.back()
      const isIt = ({ body }: Received) => value.test(raisedIn(body) ?? '')
      const received = await sentry.next(isIt, { timeout: 30_000 })
      expect(received.header.event_id).toBe((await answer.json()).id)
      expect(withoutTime(received.body)).toEqual(withoutTime(posted.postDataBuffer() ?? Buffer.alloc(0)))
      expect(sentry.requests.filter(isIt)).toHaveLength(1)
    },
  )
})

/** What the first exception of an event says. */
function raisedIn(body: Buffer | null): string | undefined {
  const event = body && parseEnvelope(body).items.find(({ header }) => header.type === 'event')
  return event ? JSON.parse(String(event.payload)).exception?.values?.[0]?.value : undefined
}

/** `sent_at` is moved by the time it waited (DESIGN §2.5); nothing else is. */
function withoutTime(body: Buffer): string {
  return body.toString('latin1').replace(/"sent_at":"[^"]*"/, '"sent_at":""')
}
