/** SDK that is loaded after the first scripts of the page. */

import { setImmediate } from 'node:timers/promises'
import { parseHTML } from 'linkedom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { BrowserSettings } from '../../../../../web/lib/sentry/browser-config.ts'
import type { EarlyReport } from '../../../../../web/lib/sentry/late-sdk/early-report.ts'
import { LateSdk, type Sdk } from '../../../../../web/lib/sentry/late-sdk/late-sdk.ts'
import { startUpstream, type Upstream } from '../../../../support/recording-server.ts'
import { parseEnvelope } from '../../../../support/sentry/received-request.ts'
import { until } from '../../../../support/until.ts'

const SETTINGS: BrowserSettings = {
  dsn: 'https://key@sentry.example/2',
  tunnel: '/monitoring?p=2',
  environment: 'production',
  release: 'shop@1',
  replaysOnErrorSampleRate: 0,
  feedback: false,
}

/** SDK that notes what it gets. */
class NotingSdk implements Sdk {
  readonly early: EarlyReport[] = []
  readonly captured: unknown[] = []
  readonly transitions: string[] = []
  dropped = 0

  startBrowserSdk(_: unknown, early: readonly EarlyReport[], dropped: number): void {
    this.early.push(...early)
    this.dropped = dropped
    for (const report of early) if ('caught' in report) report.resolve('id of an early error')
  }

  captureException(exception: unknown): string {
    this.captured.push(exception)
    return 'id'
  }

  onRouterTransitionStart(href: string): void {
    this.transitions.push(href)
  }
}

describe('LateSdk', () => {
  const navigator = { onLine: true }
  let page: EventTarget
  let sdk: NotingSdk

  beforeEach(() => {
    page = new EventTarget()
    sdk = new NotingSdk()
    navigator.onLine = true
    const { addEventListener, removeEventListener } = EventTarget.prototype
    vi.stubGlobal('addEventListener', addEventListener.bind(page))
    vi.stubGlobal('removeEventListener', removeEventListener.bind(page))
    vi.stubGlobal('navigator', navigator)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    vi.spyOn(console, 'warn').mockImplementation(() => {})
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  const fail = (text: string) =>
    page.dispatchEvent(Object.assign(new Event('error'), { error: new Error(text) }))

  const messages = () =>
    sdk.early.map((report) => {
      if ('caught' in report) return String(report.caught)
      return String('error' in report ? report.error.error : report.rejection.reason)
    })

  it('hands the errors, rejections and caught exceptions from before over, once and in their order', async () => {
    const loaded = Promise.withResolvers<Sdk>()
    const late = new LateSdk(() => loaded.promise)
    late.start(SETTINGS)
    fail('first')
    page.dispatchEvent(Object.assign(new Event('unhandledrejection'), { reason: new Error('second') }))
    const eventId = late.captureException(new Error('third'))
    loaded.resolve(sdk)
    fail('fourth, before the SDK runs')
    await late.whenStarted()
    fail('for the handlers of the SDK')
    expect(messages()).toEqual([
      'Error: first',
      'Error: second',
      'Error: third',
      'Error: fourth, before the SDK runs',
    ])
    expect(await eventId).toBe('id of an early error')
    expect(sdk.dropped).toBe(0)
  })

  it('passes exceptions and navigations on to the SDK after its start', async () => {
    const late = new LateSdk(() => Promise.resolve(sdk))
    late.start(SETTINGS)
    late.onRouterTransitionStart('/early', 'push')
    await late.whenStarted()
    late.onRouterTransitionStart('/late', 'push')
    expect(await late.captureException('caught')).toBe('id')
    expect(sdk.captured).toEqual(['caught'])
    expect(sdk.transitions).toEqual(['/late'])
  })

  it('keeps 30 errors, and counts the others', async () => {
    const late = new LateSdk(() => Promise.resolve(sdk))
    late.start(SETTINGS)
    for (let i = 0; i < 40; i++) fail(`number ${i}`)
    expect(await late.captureException('one more')).toBeUndefined()
    await late.whenStarted()
    expect(sdk.early).toHaveLength(30)
    expect(messages().at(-1)).toBe('Error: number 29')
    expect(sdk.dropped).toBe(11)
  })

  it('records nothing and promises no event ID where it is not started', async () => {
    const late = new LateSdk(() => Promise.reject(new Error('not to be loaded')))
    await late.whenStarted()
    expect(await late.captureException('caught')).toBeUndefined()
  })

  it('loads the SDK again after 2, 4, 8, 16 and 32 s, and when the browser is online again', async () => {
    let tries = 0
    const late = new LateSdk(() =>
      ++tries <= 6 ? Promise.reject(new Error('no network')) : Promise.resolve(sdk),
    )
    late.start(SETTINGS)
    fail('kept')
    await setImmediate()
    for (const [failures, seconds] of [2, 4, 8, 16, 32].entries()) {
      vi.advanceTimersByTime(seconds * 1000 - 1)
      await setImmediate()
      expect(tries).toBe(failures + 1)
      vi.advanceTimersByTime(1)
      await setImmediate()
      expect(tries).toBe(failures + 2)
    }
    vi.runAllTimers()
    await setImmediate()
    expect(tries).toBe(6)
    page.dispatchEvent(new Event('online'))
    await late.whenStarted()
    expect(messages()).toEqual(['Error: kept'])
    expect(console.warn).toHaveBeenCalledTimes(1)
  })

  it('waits for the event online while the browser is offline', async () => {
    navigator.onLine = false
    let tries = 0
    const late = new LateSdk(() =>
      ++tries === 1 ? Promise.reject(new Error('offline')) : Promise.resolve(sdk),
    )
    late.start(SETTINGS)
    await setImmediate()
    vi.runAllTimers()
    await setImmediate()
    expect(tries).toBe(1)
    page.dispatchEvent(new Event('online'))
    await late.whenStarted()
    expect(tries).toBe(2)
  })

  describe('of a page that is left before the SDK is loaded', () => {
    const TRACE = '0123456789abcdef0123456789abcdef'
    const CHROMIUM =
      'Error: left\n    at leave (https://shop.example/console/_next/static/a.js:2:34)\n    at https://shop.example/b.js:5:6'
    const FIREFOX =
      'leave@https://shop.example/console/_next/static/a.js:2:34\n@https://shop.example/b.js:5:6'
    let tunnel: Upstream
    let settings: BrowserSettings

    beforeEach(async () => {
      tunnel = await startUpstream('tunnel')
      settings = { ...SETTINGS, tunnel: `http://${tunnel.address}/monitoring?p=2` }
      const meta = `<meta name="sentry-trace" content="${TRACE}-0123456789abcdef-1">`
      vi.stubGlobal('document', parseHTML(`<html><head>${meta}</head></html>`).document)
      vi.stubGlobal('location', new URL('https://shop.example/cart'))
      return () => tunnel[Symbol.asyncDispose]()
    })

    const leave = () => page.dispatchEvent(new Event('pagehide'))
    const sent = () => tunnel.asked.map(({ body }) => parseEnvelope(body))
    const sentEvents = () => sent().map(({ items }) => JSON.parse(String(items[0]?.payload)))

    it.each([
      ['Chromium', CHROMIUM],
      ['Firefox', FIREFOX],
    ])('sends each error once, with the stack of %s, the trace and the time', async (_, stack) => {
      const late = new LateSdk(() => new Promise(() => {}))
      late.start({ ...settings, asksForPrivacy: true })
      const before = Date.now() / 1000
      page.dispatchEvent(
        Object.assign(new Event('error'), { error: Object.assign(new TypeError('left'), { stack }) }),
      )
      leave()
      leave()
      await until(async () => tunnel.asked.length > 0)
      expect(tunnel.asked).toHaveLength(1)
      const [event] = sentEvents()
      expect(sent()[0]?.header).toMatchObject({ dsn: SETTINGS.dsn, event_id: event.event_id })
      expect(event).toMatchObject({
        event_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        level: 'error',
        environment: 'production',
        release: 'shop@1',
        tags: { gpc: true },
        request: { url: 'https://shop.example/cart' },
        contexts: { trace: { trace_id: TRACE, span_id: expect.stringMatching(/^[0-9a-f]{16}$/) } },
        exception: {
          values: [
            {
              type: 'TypeError',
              value: 'left',
              mechanism: { type: 'auto.browser.global_handlers.onerror', handled: false },
              stacktrace: {
                frames: [
                  { function: '?', filename: 'app:///b.js', lineno: 5, colno: 6 },
                  { function: 'leave', filename: 'app:///_next/static/a.js', lineno: 2, colno: 34 },
                ],
              },
            },
          ],
        },
      })
      expect(event.timestamp).toBeGreaterThanOrEqual(before)
      expect(event.timestamp).toBeLessThanOrEqual(Date.now() / 1000)
    })

    it('resolves the event ID of a caught exception, and sends no redirect of Next.js and no value that is no Error', async () => {
      const late = new LateSdk(() => new Promise(() => {}))
      late.start(settings)
      fail('NEXT_REDIRECT')
      page.dispatchEvent(Object.assign(new Event('unhandledrejection'), { reason: 'a text' }))
      const eventId = late.captureException(new Error('caught'))
      leave()
      await until(async () => tunnel.asked.length > 0)
      expect(sentEvents()).toMatchObject([
        {
          event_id: await eventId,
          exception: { values: [{ value: 'caught', mechanism: { handled: true } }] },
        },
      ])
    })

    it('sends no more than a browser accepts, each error once, and counts the others', async () => {
      const late = new LateSdk(() => new Promise(() => {}))
      late.start(settings)
      const raise = (error: Error) =>
        page.dispatchEvent(Object.assign(new Event('error'), { error: Object.assign(error, { stack: '' }) }))
      const twice = new Error('twice')
      raise(twice)
      raise(twice)
      raise(new Error('é'.repeat(40_000)))
      for (let i = 1; i <= 32; i++) raise(new Error(`number ${i}`))
      leave()
      leave()
      await until(async () => tunnel.asked.length === 15)
      const [report] = sentEvents().filter((event) => 'discarded_events' in event)
      // Recorded are 30: one is the same again, and 14 are sent. The other 15 and the 5 that were not recorded are lost.
      expect(report.discarded_events).toEqual([
        { reason: 'buffer_overflow', category: 'error', quantity: 20 },
      ])
      const values = sentEvents().flatMap((event) => event.exception?.values ?? [])
      expect(values.map(({ value }) => value).sort()).toEqual(
        ['twice', ...Array.from({ length: 13 }, (_, i) => `number ${i + 1}`)].sort(),
      )
    })

    it('leaves nothing for the SDK, for a page that comes back', async () => {
      const loaded = Promise.withResolvers<Sdk>()
      const late = new LateSdk(() => loaded.promise)
      late.start(settings)
      fail('sent already')
      leave()
      fail('after the return')
      loaded.resolve(sdk)
      await late.whenStarted()
      fail('for the handlers of the SDK')
      leave()
      await until(async () => tunnel.asked.length > 0)
      expect(sentEvents()).toMatchObject([{ exception: { values: [{ value: 'sent already' }] } }])
      expect(messages()).toEqual(['Error: after the return'])
    })
  })
})
