/** Every button of the error lab in Chromium, and its report at Sentry. */

import { describe, expect } from 'vitest'
import { findingsInBothThemes, findingsOn } from '../support/browser/axe.ts'
import { SITE_HOST, type Visitor } from '../support/browser/chromium.ts'
import { it } from '../support/browser/fixtures.ts'
import { labUrl } from '../support/browser/lab.ts'
import { requires } from '../support/requirements.ts'
import { eventOf, type Item } from '../support/sentry/received-request.ts'
import type { Sentry } from '../support/sentry/sentry.ts'
import { type Site, startSite } from '../support/site.ts'
import { until } from '../support/until.ts'
import { openProxy, VISITOR_ADDRESS } from '../support/visitor-proxy.ts'

const ERRORS = [
  ['Throw an error', /^Thrown on purpose/, 'auto.browser.global_handlers.onerror', /uncaught Error: Thrown/],
  [
    'Reject a promise',
    /^Rejected on purpose/,
    'auto.browser.global_handlers.onunhandledrejection',
    /uncaught Error: Rejected/,
  ],
  ['Catch and report', /^Caught on purpose/, 'generic', undefined],
  [
    'Fail while rendering',
    /^Thrown while React renders/,
    'auto.function.react.error_boundary',
    /Thrown while React renders/,
  ],
  [
    'Fail in a server component',
    /^Thrown on purpose in a server component/,
    'auto.function.nextjs.on_request_error',
    /status of 500/,
  ],
  [
    'Fail in a route handler',
    /^Thrown on purpose in a route handler/,
    'auto.function.nextjs.on_request_error',
    /status of 500/,
  ],
  [
    'Fail in a server action',
    /^Thrown on purpose in a server action/,
    'auto.function.nextjs.server_action',
    /status of 500/,
  ],
] as const

/** Router that Next.js gives the page, for navigation without a new document. */
type NextWindow = { next: { router: { push(path: string): void } } }

describe('The error lab', requires('chromium', 'nginx'), () => {
  /** Opens the lab, presses the button, and returns the outcome that the page shows. */
  async function press(
    site: Pick<Site, 'url'>,
    { page, allowTrouble }: Visitor,
    name: string,
    says: string,
  ): Promise<string> {
    allowTrouble(/failed: (GET|POST) \S+\/lab(\?_rsc=\w+)? net::ERR_ABORTED/) // Next.js aborts a request when it has the part that it needs
    await page.goto(`${site.url}/lab`)
    await page.getByRole('button', { name }).click()
    const outcome = page.getByRole('listitem', { name }).getByRole('status').filter({ hasText: says })
    await outcome.waitFor()
    await page
      .locator('button[aria-disabled=false]', { hasText: /^(Fail|Request|Follow)/ })
      .nth(4)
      .waitFor() // the page has its next pass
    return outcome.innerText()
  }

  it.for(ERRORS)(
    'delivers the report of “%s” with its mark, and shows the same event ID',
    async ([name, value, mechanism, trouble], { sentry, site, visitor }) => {
      if (trouble) visitor.expectTrouble(trouble)
      const outcome = await press(site, visitor, name, 'accepted by this site (200)')
      const received = await sentry.next((each) =>
        value.test(eventOf(each)?.exception?.values?.at(-1)?.value),
      )
      const event = eventOf(received)
      expect(outcome).toContain(`Event ${event.event_id}`)
      expect(event.environment).toBe('lab')
      expect(received.header.trace).toMatchObject({
        environment: 'lab',
        trace_id: event.contexts.trace.trace_id,
      })
      expect(event.exception.values.at(-1).mechanism.type).toBe(mechanism)
    },
  )

  it('delivers the report of “Throw an error” unmodified, with the client address and without cookies', async ({
    sentry,
    site,
    visitor,
  }) => {
    visitor.expectTrouble(/uncaught Error: Thrown/)
    await using proxy = await openProxy(site.port)
    visitor.allowTrouble(/net::ERR_(ABORTED|CONNECTION_REFUSED)/) // the proxy ends before the page, which asks for receipts
    const url = `http://${SITE_HOST}:${proxy.port}`
    await visitor.page.context().addCookies([{ name: 'session', value: 'only-for-the-site', url }])
    const outcome = await press({ url }, visitor, 'Throw an error', 'accepted by this site (200)')
    const received = await sentry.next((each) => outcome.includes(eventOf(each)?.event_id))

    const posted = visitor.posts.find((post) => post.postDataBuffer()?.equals(received.body))
    expect(posted?.url()).toBe(`${url}/monitoring?p=456&o=123&r=us`)
    expect(eventOf(received).exception.values[0].stacktrace.frames.at(-1)).toEqual({
      filename: expect.stringMatching(/^app:\/\/\/_next\/static\/chunks\/.+\.js$/),
      function: expect.any(String),
      lineno: expect.any(Number),
      colno: expect.any(Number),
      in_app: true,
    })
    expect(received.headers).toMatchObject({
      'x-forwarded-for': VISITOR_ADDRESS,
      origin: url,
      'user-agent': expect.stringMatching(/Chrom/),
    })
    expect((await posted?.allHeaders())?.cookie).toBe('session=only-for-the-site')
    expect(`${received.rawHeaders} ${received.body}`).not.toContain('only-for-the-site')
  })

  it('delivers the report of “Fail as the page closes”, and the next page shows its event ID', async ({
    sentry,
    site,
    visitor,
  }) => {
    visitor.allowTrouble(/Thrown while the page closes/)
    await visitor.page.goto(`${site.url}/lab`)
    await visitor.page.getByRole('button', { name: 'Fail as the page closes' }).click()
    await visitor.page.waitForURL('**/lab?closed')
    const { header } = await sentry.next((each) =>
      /^Thrown while the page closes/.test(eventOf(each)?.exception?.values?.[0]?.value),
    )
    await visitor.page.getByText(`Event ${header.event_id}`).waitFor()
  })

  it('delivers “Trace slow work” with its steps, in the trace of the request to the server', async ({
    sentry,
    site,
    visitor,
  }) => {
    const asked = visitor.page.waitForRequest(
      (request) => request.resourceType() === 'fetch' && request.url() === `${site.url}/lab`,
    )
    await press(site, visitor, 'Trace slow work', 'accepted by this site (200)')
    const spans = JSON.parse(String((await itemOf(sentry, 'span', /slow work/)).payload)).items
    const named = (name: string) => spans.find((span: { name: string }) => span.name === name)
    expect(named('slow work').end_timestamp - named('slow work').start_timestamp).toBeGreaterThan(1.1)
    expect(named('ask the server').parent_span_id).toBe(named('slow work').span_id)
    expect((await asked).headers()['sentry-trace']).toMatch(named('slow work').trace_id)
  })

  it('delivers the console line and the logger line of “Write logs”', async ({ sentry, site, visitor }) => {
    await press(site, visitor, 'Write logs', 'accepted by this site (200)')
    const { items } = JSON.parse(String((await itemOf(sentry, 'log', /on purpose/)).payload))
    expect(items.map(({ body }: { body: string }) => body)).toEqual([
      expect.stringMatching(/^Written to the console on purpose/),
      expect.stringMatching(/^Logged on purpose/),
    ])
    expect(items[0].attributes['sentry.environment'].value).toBe('lab')
  })

  it('delivers a counter and a distribution for “Count metrics”', async ({ sentry, site, visitor }) => {
    await press(site, visitor, 'Count metrics', 'accepted by this site (200)')
    const { items } = JSON.parse(String((await itemOf(sentry, 'trace_metric', /lab\.pressed/)).payload))
    expect(items.map(({ name, type }: { name: string; type: string }) => [name, type])).toEqual([
      ['lab.pressed', 'counter'],
      ['lab.heap', 'distribution'],
    ])
  })

  it('delivers “Send feedback” with its screenshot unmodified', async ({ sentry, site, visitor }) => {
    await press(site, visitor, 'Send feedback', 'accepted by this site (200)')
    const received = await sentry.next(({ items }) => items.some(({ header }) => header.type === 'feedback'))
    const posted = visitor.posts.find((post) => post.postDataBuffer()?.includes('"type":"feedback"'))
    expect(received.body).toEqual(posted?.postDataBuffer())
    const picture = received.items.find(({ header }) => header.type === 'attachment')
    expect(picture?.header).toMatchObject({ filename: 'screenshot.png', content_type: 'image/png' })
    expect(picture?.payload.subarray(1, 4).toString()).toBe('PNG')
  })

  it('delivers “Record a replay” unmodified', async ({ sentry, site, visitor }) => {
    await press(site, visitor, 'Record a replay', 'accepted by this site (200)')
    const received = await sentry.next(({ items }) =>
      items.some(({ header }) => header.type === 'replay_recording'),
    )
    const posts = visitor.posts.map((post) => post.postDataBuffer())
    expect(posts).toContainEqual(received.body)
    expect(JSON.parse(String(received.items[0]?.payload))).toMatchObject({
      segment_id: 0,
      environment: 'lab',
    })
  })

  it.for<[string, string]>([
    ['Request a missing page', 'not reported, on purpose: a missing page is not an error'],
    ['Follow a redirect', 'not reported, on purpose: Next.js throws an error to redirect'],
  ])('reports nothing for “%s”', async ([name, says], { sentry, site, visitor }) => {
    if (name.startsWith('Request')) visitor.expectTrouble(/status of 404/)
    const before = sentry.requests.length
    await press(site, visitor, name, says)
    await sentry.idle()
    expect(sentry.requests.slice(before).filter(eventOf)).toEqual([])
  })

  it.for<[string, (path: string) => void]>([
    ['a link', (path: string) => (window as unknown as NextWindow).next.router.push(path)],
    ['an address', (path: string) => location.assign(path)],
  ])(
    'reports no event for a visitor that redirect() sends to another page from %s, but the next error',
    async ([_, follow], { sentry, site, visitor }) => {
      const { page } = visitor
      visitor.expectTrouble(/uncaught Error: Thrown/)
      visitor.allowTrouble(/failed: GET \S+\/(lab|icon)\S* net::ERR_ABORTED/) // Next.js aborts a request when it has the part that it needs
      const { pathname, search } = new URL(await labUrl(page, site.url, 'Follow a redirect', '/lab/redirect'))
      const before = sentry.requests.length
      await page.evaluate(follow, pathname + search)
      const queryOfLab = () => (location.pathname === '/lab' ? location.search : document.body.innerText) // the text says why it stays
      await expect.poll(() => page.evaluate(queryOfLab)).toBe('?redirected')
      await page.getByRole('button', { name: 'Throw an error' }).click()
      await page.getByText('accepted by this site (200)').waitFor()
      const events = () => sentry.requests.slice(before).flatMap((received) => eventOf(received) ?? [])
      await until(async () => events().length > 0)
      expect(events().map(({ exception }) => exception.values.at(-1).value)).toEqual([
        expect.stringMatching(/^Thrown on purpose \(lab/),
      ])
    },
  )

  it('has the report of “Send an unfinished trace” filtered by the tunnel and counted in a client report', async ({
    sentry,
    site,
    visitor,
  }) => {
    const before = sentry.requests.length
    const answer = visitor.page.waitForResponse(
      (response) => response.request().postData()?.includes('"type":"transaction"') ?? false,
    )
    await press(site, visitor, 'Send an unfinished trace', 'filtered by this site')
    const token = (await answer).headers()['x-culvert-receipt']
    const told = await fetch(`http://127.0.0.1:${site.port}/console/public/receipt.json?token=${token}`)
    expect(told.headers.get('cache-control')).toBe('no-store')
    const receipt = await told.json()
    expect(receipt).toMatchObject({ outcome: 'filtered', items: [{ type: 'transaction' }] })
    for (const ofOperators of ['id', 'replica', 'project', 'sdk'])
      expect(receipt).not.toHaveProperty(ofOperators)
    expect(
      sentry.requests.slice(before).flatMap(({ items }) => items.map(({ header }) => header.type)),
    ).not.toContain('transaction')
  })

  it('has no axe finding in either theme', async ({ site, visitor }) => {
    visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
    await press(site, visitor, 'Throw an error', 'accepted by this site (200)')
    for (const path of ['/lab', '/lab/server-component?pass=none']) {
      if (path !== '/lab') await visitor.page.goto(site.url + path)
      expect([path, await findingsInBothThemes(visitor.page)]).toEqual([path, []])
    }
  })

  it('triggers nothing for 20 posts without a pass to each of its routes', async ({
    sentry,
    site,
    visitor,
  }) => {
    visitor.expectTrouble(/status of 500/)
    const called = visitor.page.waitForRequest((request) => 'next-action' in request.headers())
    await press(site, visitor, 'Fail in a server action', 'accepted by this site (200)')
    const action = (await called).headers()['next-action'] ?? ''
    await sentry.idle()
    const before = sentry.requests.length

    const url = `http://127.0.0.1:${site.port}/lab`
    const asked = '?pass=none&reference=00000000'
    const statuses = new Map<string, Set<number>>()
    for (const path of ['/route-handler', '/server-component', '/missing', '/redirect'])
      statuses.set(path, await flood(url + path + asked, {}))
    const body = '[{"pass":"none","reference":"00000000"}]'
    statuses.set(
      'action',
      await flood(url, {
        body,
        headers: { 'next-action': action, 'content-type': 'text/plain;charset=UTF-8' },
      }),
    )
    expect(Object.fromEntries(statuses)).toEqual({
      '/route-handler': new Set([403]),
      '/server-component': new Set([200]),
      '/missing': new Set([200]),
      '/redirect': new Set([200]),
      action: new Set([200]),
    })

    await press(site, visitor, 'Fail in a server action', 'accepted by this site (200)') // earlier reports would have arrived before it
    const reached = sentry.requests.slice(before).flatMap(({ items }) => items)
    expect(reached.filter(({ header }) => header.type === 'event')).toHaveLength(1)
    expect(reached.length).toBeLessThan(20) // spans and sessions of earlier visits may still arrive; the 100 posts must not
  })

  async function itemOf(sentry: Sentry, type: string, payload: RegExp): Promise<Item> {
    const isIt = ({ header, payload: bytes }: Item) => header.type === type && payload.test(String(bytes))
    const { items } = await sentry.next((received) => received.items.some(isIt))
    const item = items.find(isIt)
    if (!item) throw new Error(`no ${type}`)
    return item
  }
})

describe('The error lab with a Sentry and without LAB', requires('chromium', 'nginx'), () => {
  it('is off: a card names the setting that enables it, and its routes trigger nothing', async ({
    visitor,
  }) => {
    await using site = await startSite({ env: { SENTRY_DSN: 'https://abc@sentry.invalid/7' } })
    visitor.expectTrouble(/status of 404/)
    expect((await visitor.page.goto(`${site.url}/lab`))?.status()).toBe(404)
    await visitor.page.getByRole('heading', { name: 'The error lab is off.' }).waitFor()
    await visitor.page.getByText('LAB=on').waitFor()
    expect(await findingsOn(visitor.page)).toEqual([])
    for (const path of ['server-component', 'missing', 'redirect', 'report.json'])
      expect((await fetch(`http://127.0.0.1:${site.port}/lab/${path}`)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${site.port}/lab/route-handler`, { method: 'POST' })).status).toBe(
      404,
    )
  })
})

const POSTS = 20

/** Sends posts. Returns the statuses of the responses. */
async function flood(url: string, init: RequestInit): Promise<Set<number>> {
  const statuses = new Set<number>()
  const one = async () => {
    const response = await fetch(url, { method: 'POST', ...init })
    await response.arrayBuffer()
    statuses.add(response.status)
  }
  await Promise.all(Array.from({ length: POSTS }, one))
  return statuses
}
