/** One trace for all that a visitor does on a page, from the click to the outgoing requests of the server. */

import { describe, expect } from 'vitest'
import { it as base } from '../support/browser/fixtures.ts'
import { flushSdk, waitForTracing } from '../support/browser/web-sdk.ts'
import { perFile } from '../support/lifetime.ts'
import { startUpstream, type Upstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { eventOf, parseEnvelope, type Received } from '../support/sentry/received-request.ts'
import type { Sentry } from '../support/sentry/sentry.ts'
import { cloud } from '../support/site.ts'
import { until } from '../support/until.ts'

const CALLING = `--import=${new URL('../support/web/outgoing-call-preload.ts', import.meta.url).href}`

/** Router that Next.js gives the page, for navigation without a new document. */
type NextWindow = { next: { router: { push(path: string): void } } }

type Transaction = {
  transaction: string
  contexts: { trace: { trace_id: string; parent_span_id?: string } }
  spans: { span_id: string; trace_id: string; description: string }[]
}

let service: Upstream

const it = base.extend('siteOptions', perFile, async ({ sentry }, { onCleanup }) => {
  service = await startUpstream('service')
  onCleanup(() => service[Symbol.asyncDispose]())
  return cloud(sentry, {
    LAB: 'on',
    NODE_OPTIONS: CALLING,
    TEST_CALL: `http://${service.address}/prices`,
    SENTRY_TRACES_SAMPLE_RATE: '1',
  })
})

describe('A trace', requires('chromium', 'nginx'), () => {
  it('starts with the document, and continues from a click through nginx to web and its outgoing requests', async ({
    sentry,
    site,
    visitor,
  }) => {
    const { page } = visitor
    await page.goto(`${site.url}/lab`)
    const trace = (await metaOf('sentry-trace')).slice(0, 32)
    expect(trace).toMatch(/^[0-9a-f]{32}$/)
    expect(await metaOf('baggage')).toContain(`sentry-trace_id=${trace}`)
    expect(await metaOf('baggage')).toContain('sentry-environment=lab')

    await waitForTracing(page)
    const asked = page.waitForRequest(/\?call/)
    await page.evaluate(() =>
      document.querySelector('h1')?.addEventListener('click', () => fetch('/lab?call')),
    )
    await page.getByRole('heading', { level: 1 }).click()
    const clicked = await (await asked).allHeaders()
    await until(async () => service.asked.length > 0)
    const [called] = service.asked
    for (const headers of [clicked, called?.headers]) {
      expect(headers?.['sentry-trace']).toMatch(new RegExp(`^${trace}-[0-9a-f]{16}-1$`))
      expect(headers?.baggage).toContain(`sentry-trace_id=${trace}`)
    }

    const ofClick = () => transactionsOf(sentry).find(isChildOf(clicked))
    await until(async () => ofClick() !== undefined)
    const { transaction, contexts, spans } = ofClick() as Transaction
    expect(transaction).toBe('GET /lab')
    expect(contexts.trace.trace_id).toBe(trace)
    expect(spans).toContainEqual(
      expect.objectContaining({
        description: `GET http://${service.address}/prices`,
        span_id: spanOf(called?.headers),
        trace_id: trace,
      }),
    )

    async function metaOf(name: string): Promise<string> {
      return (await page.locator(`meta[name="${name}"]`).getAttribute('content')) ?? ''
    }
  })

  it('contains an error of the first script, once and with its stack, when the SDK is loaded at the second attempt, and the page load', async ({
    sentry,
    site,
    visitor,
  }) => {
    const { page, posts } = visitor
    visitor.expectTrouble(/uncaught Error: in the first script/)
    visitor.expectTrouble(/net::ERR_FAILED/)
    visitor.allowTrouble(/POST .*ERR_ABORTED/) // a request that is pending when the page closes
    const html = await (await fetch(`http://127.0.0.1:${site.port}/lab`)).text()
    const late = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    let hasWarned = false
    page.on('console', (message) => {
      hasWarned ||= message.text().includes('The Sentry SDK could not be loaded')
    })
    await page.route('**/*.js', async (route) => {
      if (html.includes(new URL(route.request().url()).pathname)) return route.continue()
      asked.resolve()
      await late.promise
      return hasWarned ? route.continue() : route.abort()
    })
    await page.addInitScript(failInFirstScript)
    const thrown = page.waitForEvent('pageerror')
    await page.goto(`${site.url}/lab`, { waitUntil: 'commit' })
    await Promise.all([asked.promise, thrown])
    const loadedAt = Date.now() / 1000

    late.resolve()
    const isIt = (received: Received) => (received.decoded ?? received.body).includes('in the first script')
    const event = eventOf(await sentry.next(isIt))
    const trace = await page.locator('meta[name="sentry-trace"]').getAttribute('content')
    expect(event.contexts.trace.trace_id).toBe(trace?.slice(0, 32))
    expect(event.timestamp).toBeLessThan(loadedAt)
    const [exception] = event.exception.values
    expect(exception).toMatchObject({ type: 'Error', mechanism: { handled: false } })
    expect(exception.stacktrace.frames).toContainEqual(
      expect.objectContaining({ filename: expect.stringMatching(/^app:\/\/\/_next\/static\/.+\.js$/) }),
    )

    await waitForTracing(page)
    await flushSdk(page)
    await until(async () => posts.some((post) => segmentsIn(post.postDataBuffer()).includes('/lab')))
    const told = posts.find((post) => segmentsIn(post.postDataBuffer()).includes('/lab'))
    expect(String(told?.postDataBuffer())).toContain(trace?.slice(0, 32))
    expect(sentry.requests.filter(isIt)).toHaveLength(1)
  })

  it('starts anew with each navigation, and the server continues it', async ({ sentry, site, visitor }) => {
    const { page, posts } = visitor
    visitor.allowTrouble(/ERR_ABORTED/) // Next.js aborts a request when it has the part that it needs
    await page.goto(`${site.url}/lab`)
    await waitForTracing(page)
    await expect
      .poll(() => page.evaluate(() => 'router' in (window as unknown as NextWindow).next))
      .toBe(true)
    const first = await page.locator('meta[name="sentry-trace"]').getAttribute('content')
    const asked = page.waitForRequest(/\/lab\?on&_rsc=/)
    await page.evaluate(() => (window as unknown as NextWindow).next.router.push('/lab?on'))
    const headers = await (await asked).allHeaders()
    const trace = String(headers['sentry-trace']).slice(0, 32)
    expect(trace).not.toBe(first?.slice(0, 32))
    await until(async () => transactionsOf(sentry).some(isChildOf(headers)))
    await until(async () => posts.some((post) => navigationsIn(post.postDataBuffer()).includes(trace)))
  })

  it('contains no request of the connection check and no lookup of the error lab', async ({
    sentry,
    site,
    visitor,
  }) => {
    const { page, posts } = visitor
    visitor.allowTrouble(/ERR_ABORTED|ERR_NAME_NOT_RESOLVED/) // the connection check also posts to Sentry directly
    const before = sentry.requests.length
    const isReceipt = /\/receipt\.json\?/
    const lookedUp = page.waitForResponse(isReceipt)
    await page.goto(site.url, { waitUntil: 'networkidle' })
    await lookedUp
    await fetch(`http://127.0.0.1:${site.port}/healthz`, { method: 'HEAD' })
    await page.evaluate(() => fetch('/lab/report.json?reference=01234567'))
    await flushSdk(page)
    await page.goto(`${site.url}/lab`)
    await waitForTracing(page)
    await flushSdk(page)
    const names = () => transactionsOf(sentry, before).map(({ transaction }) => transaction)
    await until(async () => names().includes('GET /lab'))
    expect(names().filter((name) => !['GET /', 'GET /lab'].includes(name))).toEqual([])
    const told = posts.map((post) => String(post.postDataBuffer()))
    expect(told.filter((text) => /(receipt|report)\.json/.test(text))).toEqual([])
  })

  it('does not start for health checks, settings, the console and unknown pages', async ({
    sentry,
    site,
    visitor,
  }) => {
    const before = sentry.requests.length
    const { page, posts } = visitor
    visitor.expectTrouble(/status of 404/)
    visitor.allowTrouble(/(POST|GET .*\/_next\/static\/).*ERR_ABORTED/) // requests that are pending when the page is left
    for (const path of ['/healthz', '/console/public/settings.json', '/console/live', '/console/inbox/1'])
      await (await fetch(`http://127.0.0.1:${site.port}${path}`)).text()
    await page.goto(`${site.url}/console/sign-in`, { waitUntil: 'networkidle' })
    await flushSdk(page)
    await page.goto(`${site.url}/no-such-page`, { waitUntil: 'networkidle' })
    await flushSdk(page)
    const last = page.waitForRequest((post) => segmentsIn(post.postDataBuffer()).includes('/lab'))
    await page.goto(`${site.url}/lab`)
    await last
    await until(async () =>
      transactionsOf(sentry, before).some(({ transaction }) => transaction === 'GET /lab'),
    )
    expect(transactionsOf(sentry, before).map(({ transaction }) => transaction)).toEqual(['GET /lab'])
    expect(posts.flatMap((post) => segmentsIn(post.postDataBuffer()))).toEqual(['/lab'])
  })
})

/** Returns the transactions after the first `before` envelopes. */
function transactionsOf({ requests }: Sentry, before = 0): Transaction[] {
  const items = requests.slice(before).flatMap((received) => received.items)
  return items
    .filter(({ header }) => header.type === 'transaction')
    .map(({ payload }) => JSON.parse(String(payload)))
}

/** Makes Next.js fail before it renders: it calls `forEach` on the data in the document. */
function failInFirstScript(): void {
  const data = Object.assign([], {
    forEach() {
      throw new Error('in the first script')
    },
  })
  Object.assign(self, { __next_f: data })
}

type Headers = Record<string, string | string[] | undefined>

/** Returns the span ID in the trace header of a request. */
function spanOf(headers: Headers | undefined): string | undefined {
  return String(headers?.['sentry-trace']).split('-')[1]
}

function isChildOf(headers: Headers): (transaction: Transaction) => boolean {
  return ({ contexts }) => contexts.trace.parent_span_id === spanOf(headers)
}

type Span = {
  name: string
  trace_id: string
  is_segment: boolean
  attributes: Record<string, { value: unknown }>
}

/** Returns the names of page loads in an envelope of the browser. */
function segmentsIn(body: Buffer | null): string[] {
  return spansIn(body)
    .filter((span) => span.is_segment)
    .map(({ name }) => name)
}

/** Returns the trace IDs of navigations without a new document. */
function navigationsIn(body: Buffer | null): string[] {
  return spansIn(body)
    .filter((span) => span.is_segment && span.attributes['sentry.op']?.value === 'navigation')
    .map(({ trace_id }) => trace_id)
}

function spansIn(body: Buffer | null): Span[] {
  const items = body ? parseEnvelope(body).items : []
  return items
    .filter(({ header }) => header.type === 'span')
    .flatMap(({ payload }) => JSON.parse(String(payload)).items)
}
