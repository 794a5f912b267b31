/** Loader in a document without a network. */

import { setImmediate } from 'node:timers/promises'
import { parseHTML } from 'linkedom'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Handover, LoaderConfig } from '../../../tunnel/sdk/handover.ts'
import type { BundleScript } from '../../../tunnel/sdk/script.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'

const CONFIG: LoaderConfig = {
  path: '/monitoring',
  query: '?p=2',
  bundles: { errors: ['errors-1.js', 'sha384-1'], tracing: ['tracing-1.js', 'sha384-tracing'] },
  options: {
    dsn: 'https://key@sentry.example/2',
    environment: 'production',
    replaysOnErrorSampleRate: 0,
  },
  feedback: false,
  privacy: 'errors',
}

describe('The loader', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Upstream
  let base: string
  /** Status of the tunnel's response to a request for a bundle. */
  let status: number

  beforeAll(async () => {
    tunnel = started.use(
      await startUpstream('tunnel', ({ url }, response) => {
        if (url.endsWith('/sdk.js?p=2')) response.end('start({"errors":["errors-2.js","sha384-2"]})')
        else response.writeHead(status).end()
      }),
    )
    base = `http://${tunnel.address}/monitoring`
  })
  afterAll(() => started.disposeAsync())

  const navigator = { onLine: true }
  const page: { Sentry?: Record<string, (...args: unknown[]) => void> } = {}
  let document: Document
  let listeners: EventTarget
  let requests: Promise<Response>[]
  let stored: Map<string, string>
  let inits: (RequestInit | undefined)[]
  let warnings: unknown[]

  beforeEach(async () => {
    navigator.onLine = true
    status = 503
    delete page.Sentry
    Reflect.deleteProperty(page, Symbol.for('culvert'))
    tunnel.asked.length = 0
    inits = []
    document = parseHTML('<html><head></head></html>').document
    Object.defineProperty(document, 'currentScript', { value: { src: `${base}/sdk.js?p=2`, dataset: {} } })
    listeners = new EventTarget()
    requests = []
    stored = new Map()
    const send = fetch
    warnings = []
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    vi.spyOn(console, 'warn').mockImplementation((text) => void warnings.push(text))
    const { addEventListener, removeEventListener } = EventTarget.prototype
    for (const [name, value] of Object.entries({
      window: page,
      document,
      Document: { prototype: document },
      navigator,
      location: new URL('https://shop.example/page'),
      localStorage: new Proxy(
        {
          getItem: (key: string) => stored.get(key),
          setItem: (key: string, value: string) => stored.set(key, value),
        },
        {
          ownKeys: () => [...stored.keys()],
          getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
        },
      ),
      CULVERT_CONFIG: CONFIG,
      fetch: (url: string, init?: RequestInit) => {
        inits.push(init)
        const response = send(url, init)
        requests.push(response)
        return response
      },
      addEventListener: addEventListener.bind(listeners),
      removeEventListener: removeEventListener.bind(listeners),
    }))
      vi.stubGlobal(name, value)
    await runLoader()
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  async function runLoader(): Promise<void> {
    vi.resetModules()
    await import('../../../tunnel/sdk/loader.ts')
  }

  const scripts = () => [...document.querySelectorAll<BundleScript<Handover>>('script')]

  /** Lets the last script fail, and waits for the result of that. */
  async function failToLoad(): Promise<void> {
    scripts().at(-1)?.onerror?.(new Event('error'))
    await Promise.allSettled(requests)
    await setImmediate()
  }

  it('tries again after 2, 4, 8, 16 and 32 s, and when the browser is online again', async () => {
    vi.runAllTimers()
    for (const [tries, seconds] of [2, 4, 8, 16, 32].entries()) {
      await failToLoad()
      vi.advanceTimersByTime(seconds * 1000 - 1)
      expect(scripts()).toHaveLength(tries + 1)
      vi.advanceTimersByTime(1)
      expect(scripts()).toHaveLength(tries + 2)
    }
    await failToLoad()
    vi.runAllTimers()
    expect(scripts()).toHaveLength(6)
    listeners.dispatchEvent(new Event('online'))
    expect(scripts()).toHaveLength(7)
    expect(scripts().map(({ integrity }) => integrity)).toEqual(Array(7).fill('sha384-1'))
    expect(warnings).toEqual([`Culvert: ${base}/sdk/errors-1.js could not be loaded`])
  })

  it('waits for the event online while the browser is offline', async () => {
    vi.runAllTimers()
    navigator.onLine = false
    await failToLoad()
    vi.runAllTimers()
    expect(scripts()).toHaveLength(1)
    listeners.dispatchEvent(new Event('online'))
    expect(scripts()).toHaveLength(2)
  })

  it('loads the bundle that the current sdk.js names when the tunnel has none of this name', async () => {
    vi.runAllTimers()
    status = 404
    await failToLoad()
    await expect.poll(() => tunnel.asked.map(({ url }) => url)).toContain('/monitoring/sdk.js?p=2')
    await Promise.allSettled(requests)
    await setImmediate()
    vi.advanceTimersByTime(2_000)
    expect(scripts().map(({ src, integrity }) => [src, integrity])).toEqual([
      [`${base}/sdk/errors-1.js`, 'sha384-1'],
      [`${base}/sdk/errors-2.js`, 'sha384-2'],
    ])
  })

  it('replaces the copy in the cache of the browser at once, and never loads a bundle without integrity', async () => {
    vi.runAllTimers()
    status = 200
    await failToLoad()
    await expect.poll(scripts).toHaveLength(2)
    expect(inits).toEqual([{ cache: 'reload' }])
    expect(warnings).toEqual([])
    await failToLoad()
    vi.runAllTimers()
    expect(scripts().map(({ src, integrity }) => [src, integrity])).toEqual(
      Array(3).fill([`${base}/sdk/errors-1.js`, 'sha384-1']),
    )
    expect(warnings).toEqual([
      `Culvert: ${base}/sdk/errors-1.js could not be loaded: its content was changed, or a policy of the page blocks it`,
    ])
  })

  it('queues 100 reports beside 100 other calls', () => {
    for (let i = 0; i < 150; i++) page.Sentry?.setTag?.('key', i)
    for (let i = 0; i < 50; i++) page.Sentry?.captureMessage?.('text')
    for (let i = 0; i < 100; i++) listeners.dispatchEvent(new Event('error'))
    vi.runAllTimers()
    const queue = scripts()[0]?.payload?.queue ?? []
    expect(queue.filter((item) => 'call' in item && item.call === 'setTag')).toHaveLength(100)
    expect(queue.filter((item) => 'call' in item && item.call === 'captureMessage')).toHaveLength(50)
    expect(queue.filter((item) => 'error' in item)).toHaveLength(50)
  })

  it('queues logs and metrics beside other calls, and formats messages', () => {
    const { logger, metrics } = page.Sentry as unknown as typeof import('@sentry/browser')
    logger.info(logger.fmt`user ${7}`, { plan: 'free' })
    metrics.count('orders', 2)
    page.Sentry?.setTag?.('key', 1)
    page.Sentry?.captureMessage?.('text')
    vi.runAllTimers()
    const message = Object.assign(new String('user 7'), {
      __sentry_template_string__: 'user %s',
      __sentry_template_values__: [7],
    })
    expect(scripts()[0]?.payload?.queue).toEqual([
      { call: 'logger.info', args: [message, { plan: 'free' }] },
      { call: 'metrics.count', args: ['orders', 2] },
      { call: 'setTag', args: ['key', 1] },
      { call: 'captureMessage', args: ['text'] },
    ])
  })

  it('passes the calls of functions that the page has kept on to the SDK', () => {
    const { captureMessage, logger } = page.Sentry as unknown as typeof import('@sentry/browser')
    const { info } = logger
    vi.runAllTimers()
    const handover = scripts()[0]?.payload
    const calls: unknown[] = []
    handover?.end()
    Object.assign(page.Sentry ?? {}, { captureMessage: (text: string) => calls.push(text) })
    Object.assign(logger, { info: (text: string) => calls.push(text) })
    expect(captureMessage('message')).toBe(1)
    info('log')
    expect(calls).toEqual(['message', 'log'])
    expect(handover?.queue).toEqual([])
  })

  it('keeps the reports of a page that is left before its SDK is there, but no other calls', () => {
    page.Sentry?.setTag?.('key', 1)
    page.Sentry?.captureException?.(new TypeError('captured'), { level: 'info' })
    listeners.dispatchEvent(Object.assign(new Event('error'), { message: 'text', error: new Error('early') }))
    listeners.dispatchEvent(Object.assign(new Event('unhandledrejection'), { reason: 'rejected' }))
    listeners.dispatchEvent(new Event('pagehide'))
    const error = (name: string, message: string) => ({
      isError: 1,
      name,
      message,
      stack: expect.stringContaining('loader.test.ts'),
    })
    expect([...stored.keys()]).toEqual([expect.stringMatching(/^culvert-offline\?p=2 early \d+ 0\.\d+$/)])
    expect(JSON.parse([...stored.values()].join())).toMatchObject({
      url: 'https://shop.example/page',
      reports: [
        { call: 'captureException', args: [error('TypeError', 'captured'), { level: 'info' }] },
        { error: { message: 'text', error: error('Error', 'early') } },
        { rejection: { reason: 'rejected' } },
      ],
    })
    vi.runAllTimers()
    expect(scripts()[0]?.payload?.queue).toEqual([{ call: 'setTag', args: ['key', 1] }])
  })

  it('keeps the reports of several pages, up to 300,000 characters', async () => {
    for (const letter of ['a', 'b', 'c', 'd']) {
      page.Sentry?.captureMessage?.(letter.repeat(90_000))
      listeners.dispatchEvent(new Event('pagehide'))
      Reflect.deleteProperty(page, Symbol.for('culvert')) // the next page
      await runLoader()
    }
    expect([...stored.values()].map((text) => /aa|bb|cc|dd/.exec(text)?.[0])).toEqual(['aa', 'bb', 'cc'])
  })

  it('keeps nothing of a page whose SDK is there, and nothing that is too long', () => {
    page.Sentry?.captureMessage?.('x'.repeat(300_000))
    listeners.dispatchEvent(new Event('pagehide'))
    vi.runAllTimers()
    const handover = scripts()[0]?.payload
    expect(handover?.queue).toHaveLength(1)
    handover?.end()
    listeners.dispatchEvent(new Event('pagehide'))
    expect(stored.size).toBe(0)
  })

  it('deletes what is stored, and loads nothing, where PRIVACY_SIGNAL=off and the visitor asks for privacy', async () => {
    const deleteDatabase = vi.fn(() => ({}))
    vi.stubGlobal('indexedDB', { deleteDatabase })
    const storage = { 'culvert-offline?p=2 kept 1 2': 'envelope', other: 'of the page' }
    const removeItem = (key: string) => Reflect.deleteProperty(storage, key)
    vi.stubGlobal('localStorage', Object.defineProperty(storage, 'removeItem', { value: removeItem }))
    vi.stubGlobal('navigator', { onLine: true, globalPrivacyControl: true })
    vi.stubGlobal('CULVERT_CONFIG', { ...CONFIG, privacy: 'off' })
    vi.stubGlobal('window', {})
    vi.clearAllTimers()
    await runLoader()
    listeners.dispatchEvent(new Event('error'))
    vi.runAllTimers()
    expect(deleteDatabase).toHaveBeenCalledWith('culvert-offline?p=2')
    expect(storage).toEqual({ other: 'of the page' })
    expect(scripts()).toEqual([])
  })

  it('changes nothing when the page has sdk.js twice, and says so', async () => {
    const { captureMessage } = page.Sentry ?? {}
    await runLoader()
    vi.runAllTimers()
    expect(page.Sentry?.captureMessage).toBe(captureMessage)
    expect(scripts()).toHaveLength(1)
    expect(warnings).toEqual(['Culvert: this page has sdk.js more than once'])
  })
})
