/** Errors of a real browser, delivered unmodified through the whole site. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Chromium, SITE_HOST, shareChromium, type Visitor } from '../support/browser/chromium.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, parseEnvelope } from '../support/sentry/received-request.ts'
import { readCertificate, type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { cloud, type Site, startSite } from '../support/site.ts'
import { openProxy, VISITOR_ADDRESS } from '../support/visitor-proxy.ts'

const COOKIE = { name: 'session', value: 'only-for-the-site' }

const BREAKAGES = [
  {
    what: 'thrown error',
    button: 'Throw an error',
    exception: { type: 'Error', value: expect.stringMatching(/^Thrown on purpose \(lab [0-9a-f]{8}\)$/) },
    mechanism: { type: 'auto.browser.global_handlers.onerror', handled: false },
  },
  {
    what: 'rejected promise',
    button: 'Reject a promise',
    exception: { type: 'Error', value: expect.stringMatching(/^Rejected on purpose \(lab [0-9a-f]{8}\)$/) },
    mechanism: { type: 'auto.browser.global_handlers.onunhandledrejection', handled: false },
  },
]

describe('A site with a Sentry', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let chromium: Chromium
  let url: string

  beforeAll(async () => {
    sentry = started.use(await startSentry({ tls: readCertificate() }))
    const site = started.use(await startSite({ ...cloud(sentry), replicas: 2 }))
    const proxy = started.use(await openProxy(site.port))
    url = `http://${SITE_HOST}:${proxy.port}`
    chromium = await shareChromium()
  })

  afterAll(() => started.disposeAsync())

  it.each(BREAKAGES)(
    'delivers a $what completely, with the client address and without cookies',
    async ({ button, exception, mechanism }) => {
      await using visitor = await chromium.visitor()
      await visitor.page.context().addCookies([{ ...COOKIE, url }])
      const { post, outcome: answer } = await breakPage(visitor, url, button)
      const received = await sentry.next(hasItem('event'))

      expect(post.url()).toBe(`${url}/monitoring?p=456&o=123&r=us`)
      expect(received.body).toEqual(post.postDataBuffer())
      expect(answer).toEqual({ id: received.header.event_id })

      const [raised] = JSON.parse(String(received.items[0]?.payload)).exception.values
      expect(raised).toMatchObject({ ...exception, mechanism })
      expect(raised.stacktrace.frames.at(-1)).toEqual({
        filename: expect.stringMatching(/^app:\/\/\/_next\/static\/chunks\/.+\.js$/),
        function: expect.any(String),
        lineno: expect.any(Number),
        colno: expect.any(Number),
        in_app: true,
      })

      expect(received.headers['x-forwarded-for']).toBe(VISITOR_ADDRESS)
      expect(received.headers.origin).toBe(url)
      expect(received.headers['user-agent']).toMatch(/Chrom/)
      expect((await post.allHeaders()).cookie).toBe(`${COOKIE.name}=${COOKIE.value}`)
      expect(`${received.rawHeaders} ${received.body}`).not.toContain(COOKIE.value)
    },
  )
})

describe('A site without a Sentry', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let site: Site
  let chromium: Chromium
  let url: string

  beforeAll(async () => {
    site = started.use(await startSite())
    url = `http://127.0.0.1:${site.port}` // a secure context to Chromium, which sends Sec-Fetch-Site there as over https
    chromium = await shareChromium()
  })

  afterAll(() => started.disposeAsync())

  it.each(BREAKAGES)('stores a $what completely in the inbox', async ({ button, exception }) => {
    await using visitor = await chromium.visitor()
    const { post, outcome: answer } = await breakPage(visitor, url, button)
    const { entries } = await (await site.tunnel.admin('/inbox')).json()
    const entry = entries.find((each: { event_id: string }) => each.event_id === answer.id)
    const kept = Buffer.from(await (await site.tunnel.admin(`/inbox/${entry.id}`)).arrayBuffer())

    expect(post.url()).toBe(`${url}/monitoring?p=1`)
    expect(kept).toEqual(post.postDataBuffer())
    expect(JSON.parse(String(parseEnvelope(kept).items[0]?.payload)).exception.values).toMatchObject([
      exception,
    ])
  })
})

/** Presses the button. Returns the request of the report when the page has said that it was accepted. */
async function breakPage(visitor: Visitor, url: string, button: string) {
  visitor.expectTrouble(/uncaught Error: (Thrown|Rejected) on purpose/)
  await visitor.page.goto(`${url}/lab`)
  await visitor.page.getByRole('button', { name: button }).click()
  await visitor.page.getByText('accepted by this site (200)').waitFor()
  const post = visitor.posts.find((each) => hasEvent(each.postDataBuffer()))
  const answer = await post?.response()
  if (!post || !answer)
    throw new Error(`No event was posted, only:\n${visitor.posts.map((each) => each.url())}`)
  return { post, outcome: await answer.json() }
}

function hasEvent(body: Buffer | null): boolean {
  return body !== null && hasItem('event')(parseEnvelope(body))
}
