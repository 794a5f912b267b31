/** Settings in each document: one build serves every environment. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shareChromium } from '../support/browser/chromium.ts'
import { requires } from '../support/requirements.ts'
import { BREAKABLE, startWeb, type Web } from '../support/web/web.ts'

const STAGING = {
  SENTRY_DSN: 'https://abc@o123.ingest.us.sentry.io/456',
  SENTRY_ENVIRONMENT: 'staging',
  SENTRY_RELEASE: 'shop@1.2.3',
  SENTRY_TRACES_SAMPLE_RATE: '0.5',
}
const DEFAULTS = {
  replaysOnErrorSampleRate: 0,
  feedback: false,
}
const STAGING_SETTINGS = {
  ...DEFAULTS,
  dsn: 'https://abc@o123.ingest.us.sentry.io/456',
  tunnel: '/monitoring?p=456&o=123&r=us',
  environment: 'staging',
  release: 'shop@1.2.3',
  tracesSampleRate: 0.5,
}
const INBOX_SETTINGS = {
  ...DEFAULTS,
  dsn: 'https://culvert@inbox.invalid/1',
  tunnel: '/r?p=1',
  environment: 'production',
}

let staging: Web
let inbox: Web

beforeAll(async () => {
  ;[staging, inbox] = await Promise.all([
    startWeb({ ...STAGING, LAB: 'on', NODE_OPTIONS: BREAKABLE }),
    startWeb({ TUNNEL_PATHS: '/r' }),
  ])
}, 180_000)

afterAll(() => Promise.all([staging?.stop(), inbox?.stop()]))

/** Returns the settings in a document. */
async function settingsOf(url: string): Promise<unknown> {
  const html = await (await fetch(url)).text()
  const [, attribute = 'null'] = /^<!DOCTYPE html><html[^>]* data-settings="([^"]*)"/.exec(html) ?? []
  return JSON.parse(attribute.replaceAll('&quot;', '"').replaceAll('&amp;', '&'))
}

describe('The browser settings', () => {
  it.each(['/', '/no-such-page', '/no/such/page?at=all'])(
    'are in the document of %s, with the values of the running process',
    async (path) => {
      expect(await settingsOf(staging.url + path)).toEqual(STAGING_SETTINGS)
      expect(await settingsOf(inbox.url + path)).toEqual(INBOX_SETTINGS)
    },
  )

  it('omit the trace sample rate for a visitor with Sec-GPC, as PRIVACY_SIGNAL says', async () => {
    const { url } = staging
    const asked = async (at: string) =>
      (await fetch(`${at}/console/public/settings.json`, { headers: { 'sec-gpc': '1' } })).json()
    const { tracesSampleRate: _, ...untraced } = STAGING_SETTINGS
    expect(await asked(url)).toEqual({ ...untraced, asksForPrivacy: true })
  })

  it('are served as settings.json for a document without them', async () => {
    expect(await settingsOf(`${staging.url}/?break`)).toBeNull()
    const response = await fetch(`${staging.url}/console/public/settings.json`)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toEqual(STAGING_SETTINGS)
  })
})

describe('An error thrown in the browser is reported to the tunnel path', requires('chromium'), () => {
  it.each([
    ['of a page', '/', 200],
    ['of the not-found page', '/no-such-page', 404],
    ['of the error page that Next.js renders', '/?break', 500],
    ['of the fallback error page of Next.js', '/?break=next', 500],
  ])('by the document %s', async (_, path, status) => {
    const chromium = await shareChromium()
    await using visitor = await chromium.visitor()
    const { page } = visitor
    if (status !== 200) visitor.expectTrouble(new RegExp(`status of ${status}`))
    if (path === '/?break') visitor.expectTrouble(/Minified|Server Components render/)
    visitor.expectTrouble(/uncaught Error: after the page/)
    await page.route('**/monitoring**', (route) => route.fulfill({ json: {} }))
    await page.route('https://o123.ingest.us.sentry.io/**', (route) => route.fulfill({ json: {} })) // the connection check

    expect((await page.goto(staging.url + path))?.status()).toBe(status)
    const reported = page.waitForRequest((request) => Boolean(request.postData()?.includes('after the page')))
    await page.evaluate(
      () =>
        void setTimeout(() => {
          throw new Error('after the page')
        }),
    )

    const request = await reported
    expect(request.url()).toBe(`${staging.url}/monitoring?p=456&o=123&r=us`)
    const [header = '', , event = ''] = request.postData()?.split('\n') ?? []
    expect(JSON.parse(header)).toMatchObject({ dsn: STAGING.SENTRY_DSN })
    expect(JSON.parse(event)).toMatchObject({ environment: 'staging', release: 'shop@1.2.3' })
  })
})
