/** Transport of the SDK with the real client, an IndexedDB in memory, and a server in place of the tunnel. */

import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as setTimer } from 'node:timers'
import { BrowserClient, defaultStackParser } from '@sentry/browser'
import type { Envelope } from '@sentry/core'
import { IDBDatabase, IDBFactory, IDBKeyRange, IDBTransaction } from 'fake-indexeddb'
import {
  afterAll,
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  type Mock,
  type MockInstance,
  vi,
} from 'vitest'
import { clearStored } from '../../../tunnel/sdk/offline/local.ts'
import { EnvelopeStore } from '../../../tunnel/sdk/offline/store.ts'
import { MAX_BUFFERED, makeTransport } from '../../../tunnel/sdk/transport.ts'
import { type Asked, startUpstream, type Upstream } from '../../support/recording-server.ts'

/** Options of each call of `fetch`. The transport takes the function when it is loaded. */
const { inits: posted, fetch: originalFetch } = vi.hoisted(() => {
  const inits: RequestInit[] = []
  const { fetch } = globalThis
  globalThis.fetch = (input, init = {}) => {
    inits.push(init)
    return fetch(input, init)
  }
  return { inits, fetch }
})

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const MAX_STORED = 30
const TRANSACTION_MS = 5_000
const PATIENCE_MS = 300
const KEPT = '/monitoring?p=2&keep=1'
const TAKEN = expect.objectContaining({ body: expect.any(Uint8Array) })
const DATABASE = 'culvert-offline?p=2'
/** Text that a browser would not send after the page is closed. */
const LARGE = 'x'.repeat(70_000)

type Answer = (asked: Asked, response: ServerResponse) => void

const accept: Answer = (_, response) => void response.end('{}')
const disconnect: Answer = (_, response) => void response.destroy()
const respond =
  (status: number, code = '', rateLimits = '', more = {}): Answer =>
  (_, response) =>
    void response
      .writeHead(status, rateLimits ? { 'x-sentry-rate-limits': rateLimits } : {})
      .end(JSON.stringify({ code, ...more }))
/** Accepts all envelopes but those with a text. */
const acceptUnless =
  (text: string, refuse: Answer): Answer =>
  (asked, response) =>
    (asked.body.includes(text) ? refuse : accept)(asked, response)
/** The tunnel reports the loss. */
const REPORTED = { reported: true }
const throttle = respond(429, 'throttled', '10:error;replay:key:tunnel')

/** Storage whose keys are its own properties, as those of `localStorage`. */
class FakeStorage {
  [key: string]: unknown

  getItem(key: string): unknown {
    return this[key] ?? null
  }

  setItem(key: string, value: string): void {
    this[key] = value
  }

  removeItem(key: string): void {
    delete this[key]
  }
}

describe('The transport', () => {
  let navigator = { onLine: true }
  let tunnel: Upstream
  let answer: Answer
  let page: EventTarget
  let timers: MockInstance<typeof setTimeout>
  let warnings: string[]
  let recordDropped: Mock
  let inFlight: number
  let mostInFlight: number

  beforeEach(async () => {
    answer = accept
    navigator = { onLine: true }
    posted.length = 0
    inFlight = mostInFlight = 0
    tunnel = await startUpstream('tunnel', (asked, response) => {
      mostInFlight = Math.max(mostInFlight, ++inFlight)
      response.once('close', () => inFlight--)
      answer(asked, response)
    })
    page = new EventTarget()
    setMaxListeners(0, page)
    warnings = []
    timers = vi.spyOn(globalThis, 'setTimeout')
    recordDropped = vi.spyOn(BrowserClient.prototype, 'recordDroppedEvent')
    vi.spyOn(console, 'warn').mockImplementation((text) => void warnings.push(text))
    vi.useFakeTimers({ toFake: ['Date'] })
    const { addEventListener, removeEventListener } = EventTarget.prototype
    for (const [name, value] of Object.entries({
      navigator,
      location: new URL('https://shop.example/'),
      indexedDB: new IDBFactory(),
      localStorage: new FakeStorage(),
      window: globalThis,
      IDBKeyRange,
      addEventListener: addEventListener.bind(page),
      removeEventListener: removeEventListener.bind(page),
    }))
      vi.stubGlobal(name, value)
  })
  afterEach(async () => {
    hidePage() // a tab of this test must not take what the next test keeps
    await tunnel[Symbol.asyncDispose]()
    for (const { value } of timers.mock.results) clearTimeout(value) // of tabs that would send in the next test
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
  afterAll(() => {
    globalThis.fetch = originalFetch
  })

  /** Opens a tab with a client of its own. */
  function openTab(bufferSize = MAX_BUFFERED, privacy = 'errors'): BrowserClient {
    const client = new BrowserClient({
      dsn: 'https://key@sentry.example/2',
      tunnel: `http://${tunnel.address}/monitoring?p=2`,
      transport: makeTransport,
      transportOptions: { bufferSize, ...{ privacy } },
      stackParser: defaultStackParser,
      integrations: [],
    })
    client.init()
    return client
  }

  const send = (client: BrowserClient, message: string, type = 'event') =>
    client.sendEnvelope([{}, [[{ type }, { message }]]] as unknown as Envelope)
  const hidePage = () => page.dispatchEvent(new Event('pagehide'))
  const online = () => page.dispatchEvent(new Event('online'))
  const advance = (ms: number) => vi.setSystemTime(Date.now() + ms)
  const onlineAfter = (ms: number) => {
    advance(ms)
    online()
  }
  const postsOf = (text: string) => tunnel.asked.filter(({ body }) => body.includes(`"${text}"`))
  const urlsOf = (text: string) => postsOf(text).map(({ url }) => url)

  /** Opens a tab that stores these events, since the tunnel responds with 503. */
  async function openTabThatKeeps(...texts: string[]): Promise<BrowserClient> {
    answer = respond(503)
    const client = openTab()
    for (const text of texts) await send(client, text)
    return client
  }

  /** Opens a tab, and leaves its page. */
  function openLeftTab(): BrowserClient {
    const client = openTab()
    hidePage()
    return client
  }

  /** Lets the next posts wait. Resolves to the response of the first. */
  function holdPost(): Promise<ServerResponse> {
    const posted = Promise.withResolvers<ServerResponse>()
    answer = (_, response) => posted.resolve(response)
    return posted.promise
  }

  /** Lets posts wait for their responses. */
  function holdResponses() {
    const held: ServerResponse[] = []
    answer = (_, response) => held.push(response)
    return {
      async accept(client: BrowserClient): Promise<void> {
        answer = accept
        for (const response of held) response.end('{}')
        await client.flush(MINUTE_MS)
      },
    }
  }

  /** Lets a page that has been left keep an envelope, of which the browser tells the others. */
  function keepIn(left: BrowserClient): void {
    void send(left, LARGE)
    const [key = ''] = Object.keys(localStorage)
    page.dispatchEvent(Object.assign(new Event('storage'), { key, newValue: localStorage.getItem(key) }))
  }

  /** Resolves to the messages in the database. */
  async function stored(): Promise<string[]> {
    return (await values()).map(
      ({ body }) => /"message":"([^"]+)"/.exec(new TextDecoder().decode(body))?.[1] ?? '',
    )
  }

  async function values(): Promise<{ body: Uint8Array; notBefore: number }[]> {
    const database = await ended(indexedDB.open(DATABASE))
    const all = await ended(database.transaction('queue').objectStore('queue').getAll())
    database.close()
    return all
  }

  it('sends 100 errors at once, fewer than 20 at a time', async () => {
    const held = holdResponses()
    const client = openTab()
    for (let i = 0; i < 100; i++) client.captureMessage(`error ${i}`)
    await expect.poll(() => inFlight).toBeGreaterThanOrEqual(15)
    expect((await stored()).length).toBeLessThanOrEqual(MAX_STORED)
    await held.accept(client)
    const sent = new Set(tunnel.asked.map(({ body }) => /"error \d+"/.exec(String(body))?.[0]))
    expect(sent.size).toBe(100)
    expect(tunnel.asked).toHaveLength(100)
    expect(mostInFlight).toBeLessThan(20)
    expect(await stored()).toEqual([])
  })

  it('promises to keep only what is stored, from the first envelope on', async () => {
    answer = (_, response) =>
      void stored().then((messages) => {
        expect(messages).toEqual(['first'])
        response.writeHead(503).end()
      })
    const client = openTab()
    expect(await send(client, 'first')).toEqual({ statusCode: 202 })
    expect(urlsOf('first')).toEqual([KEPT])
    expect(await stored()).toEqual(['first'])
  })

  it.each([
    ['without a connection', disconnect],
    ['after 408', respond(408, 'body-timeout')],
    ['after 429 of the tunnel', throttle],
    ['after a 429 without limits, of a proxy', respond(429)],
    ['after 500 of a proxy', respond(500)],
    ['after 502', respond(502)],
    ['after 503', respond(503, 'spool-full')],
    ['after 504', respond(504)],
    ['after 520 of a proxy', respond(520)],
  ])('keeps an envelope %s, resolves to 202 and reports no loss', async (_, refuse) => {
    answer = refuse
    const client = openTab()
    expect(await send(client, 'kept')).toEqual({ statusCode: 202 })
    expect(recordDropped).not.toHaveBeenCalled()
    answer = accept
    onlineAfter(MINUTE_MS)
    await expect.poll(stored).toEqual([])
    expect(urlsOf('kept')).toEqual([KEPT, KEPT])
  })

  it.each([
    [200, ''],
    [202, ''],
    [400, ''],
    [413, ''],
    [503, 'tunnel-failed'],
  ])('removes an envelope after %i %s', async (status, code) => {
    answer = respond(status, code)
    expect(await send(openTab(), 'final')).toMatchObject({ statusCode: status })
    expect(await stored()).toEqual([])
  })

  it('removes an envelope after 429 of Sentry, and drops the next ones as long as Sentry says', async () => {
    answer = respond(429, 'rate-limited', '60:error:key')
    const client = openTab()
    expect(await send(client, 'final')).toMatchObject({ statusCode: 429 })
    expect(await stored()).toEqual([])
    expect(await send(client, 'next')).toEqual({})
    expect(recordDropped.mock.calls).toEqual([['ratelimit_backoff', 'error']])
  })

  it('sends the next envelope at once after a 429 of the tunnel', async () => {
    answer = throttle
    const client = openTab()
    expect(await send(client, 'throttled')).toEqual({ statusCode: 202 })
    answer = accept
    expect(await send(client, 'next')).toMatchObject({ statusCode: 200 })
    expect(recordDropped).not.toHaveBeenCalled()
  })

  it('keeps stored errors while the SDK drops new ones, since the tunnel limits the rate and the store is full', async () => {
    const client = await openTabThatKeeps(...Array.from({ length: MAX_STORED }, (_, i) => `stored ${i}`))
    answer = throttle
    expect(await send(client, 'without room')).toMatchObject({ statusCode: 429 })
    expect(await send(client, 'dropped')).toEqual({})
    answer = accept
    advance(6_000)
    const take = vi.spyOn(EnvelopeStore.prototype, 'take')
    online()
    await expect.poll(() => take.mock.settledResults.map(({ value }) => value)).toContainEqual(TAKEN)
    onlineAfter(6_000)
    await expect.poll(() => tunnel.asked.length).toBeGreaterThan(MAX_STORED + 1)
    expect(recordDropped.mock.calls).toEqual([
      ['ratelimit_backoff', 'error'],
      ['ratelimit_backoff', 'error'],
    ])
  })

  it('waits for different times after a response', async () => {
    answer = throttle
    const client = openTab()
    for (let i = 0; i < 10; i++) await send(client, 'event')
    const delays = (await values()).map(({ notBefore }) => notBefore - Date.now())
    expect(new Set(delays).size).toBeGreaterThan(1)
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(2_500)
    expect(Math.max(...delays)).toBeLessThanOrEqual(5_000)
  })

  it('keeps the envelope of a retry while new ones fill the store', async () => {
    const client = await openTabThatKeeps('retried')
    const retry = Promise.withResolvers<ServerResponse>()
    answer = (asked, response) =>
      asked.body.includes('retried') ? retry.resolve(response) : response.writeHead(503).end()
    onlineAfter(MINUTE_MS)
    const held = await retry.promise
    for (let i = 0; i < MAX_STORED; i++) await send(client, `new ${i}`)
    held.writeHead(503).end()
    await client.flush(MINUTE_MS)
    expect(await stored()).toContain('retried')
    expect(await stored()).toHaveLength(MAX_STORED)
    expect(urlsOf('new 28')).toEqual([KEPT])
    expect(urlsOf('new 29')).toEqual(['/monitoring?p=2'])
  })

  it('keeps a stored envelope while the buffer of the SDK is full', async () => {
    answer = respond(503)
    const client = openTab(1)
    await send(client, 'kept')
    const posted = holdPost()
    const sent = send(client, 'slow')
    const held = await posted
    const take = vi.spyOn(EnvelopeStore.prototype, 'take')
    onlineAfter(MINUTE_MS)
    await expect.poll(() => take.mock.settledResults).not.toEqual([])
    answer = accept
    held.end('{}')
    await sent
    online()
    await expect.poll(() => postsOf('kept')).toHaveLength(2)
    expect(recordDropped).not.toHaveBeenCalled()
  })

  it('bounds the store of two tabs together, and promises no more', async () => {
    answer = respond(503)
    const tabs = [openTab(), openTab()]
    await Promise.all(
      Array.from({ length: 2 * MAX_STORED }, (_, i) => send(tabs[i % 2] as BrowserClient, `error ${i}`)),
    )
    expect(tunnel.asked.filter(({ url }) => url === KEPT).length).toBeLessThanOrEqual(MAX_STORED)
    expect(await stored()).toHaveLength(MAX_STORED)
  })

  it('sends an envelope from one of two tabs', async () => {
    const tabs = [openTab(), await openTabThatKeeps('shared')]
    answer = accept
    onlineAfter(MINUTE_MS)
    await expect.poll(stored).toEqual([])
    for (const tab of tabs) await tab.flush(MINUTE_MS)
    expect(postsOf('shared')).toHaveLength(2)
  })

  it('sends others before an envelope that the tunnel never accepts, which it drops after 30 posts', async () => {
    const client = await openTabThatKeeps('bad', 'good')
    answer = acceptUnless('bad', respond(503))
    for (let posts = 2; posts <= 30; posts++) {
      onlineAfter(60 * MINUTE_MS)
      await expect.poll(() => postsOf('bad')).toHaveLength(posts)
      await client.flush(MINUTE_MS)
    }
    expect(postsOf('good')).toHaveLength(2)
    expect(await stored()).toEqual([])
    expect(recordDropped.mock.calls).toEqual([['network_error', 'error']])
  })

  it('sends others before an envelope whose posts get no response', async () => {
    answer = disconnect
    const client = openTab()
    for (const text of ['bad 1', 'bad 2', 'good']) await send(client, text)
    answer = acceptUnless('bad', disconnect)
    await expect
      .poll(() => {
        online()
        return postsOf('good')
      })
      .toHaveLength(2)
    await expect.poll(async () => (await stored()).sort()).toEqual(['bad 1', 'bad 2'])
  })

  it('sends others while the post of an envelope does not end', async () => {
    const timeout = new AbortController()
    await openTabThatKeeps('stuck', 'good')
    const stuck = holdPost()
    vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(timeout.signal)
    onlineAfter(MINUTE_MS)
    await stuck
    answer = accept
    timeout.abort()
    online()
    await expect.poll(stored).toHaveLength(1)
    onlineAfter(MINUTE_MS)
    await expect.poll(stored).toEqual([])
    expect(recordDropped).not.toHaveBeenCalled()
  })

  it('drops an envelope whose posts get no response after 30 of them, if other posts get one', async () => {
    answer = acceptUnless('bad', disconnect)
    const client = openTab()
    await send(client, 'bad')
    const isDropped = async () => {
      advance(60 * MINUTE_MS) // more than the time until its next post
      await send(client, 'other')
      await client.flush() // sends what is stored
      return (await stored()).length === 0
    }
    await expect.poll(isDropped).toBe(true)
    await client.flush(MINUTE_MS)
    expect(postsOf('bad').length).toBeGreaterThanOrEqual(30)
    expect(recordDropped.mock.calls).toEqual([['network_error', 'error']])
  })

  it('keeps an envelope in an app that is opened 31 times without a connection', async () => {
    answer = disconnect
    await send(openTab(), 'kept')
    for (let visit = 0; visit < 31; visit++) {
      const { length } = postsOf('kept')
      advance(60 * MINUTE_MS)
      openTab()
      online() // sends what is stored at once
      await expect.poll(() => postsOf('kept').length).toBeGreaterThan(length)
    }
    expect(await stored()).toEqual(['kept'])
  })

  it('keeps at most 10 envelopes without errors and feedback', async () => {
    const client = await openTabThatKeeps()
    for (let i = 0; i < 8; i++)
      for (const type of ['replay_event', 'log', 'transaction']) await send(client, type, type)
    expect(await stored()).toHaveLength(10)
    for (let i = 0; i < 20; i++) await send(client, 'report', i % 2 ? 'event' : 'feedback')
    expect((await stored()).filter((message) => message === 'report')).toHaveLength(20)
  })

  it.each([
    ['at most 1 MB of an envelope', ['event'], 1_000_000, 0],
    ['at most 5 MB in total', Array(6).fill('event'), 900_000, 5],
    ['at most half of the 5 MB of envelopes without reports', Array(3).fill('replay_event'), 900_000, 2],
    ['5 MB with reports', [...Array(3).fill('replay_event'), ...Array(3).fill('event')], 900_000, 5],
  ])('keeps %s', async (_, types, length, kept) => {
    const client = await openTabThatKeeps()
    for (const type of types) await send(client, 'x'.repeat(length), type)
    expect(await stored()).toHaveLength(kept)
  })

  it('drops what is older than 30 days', async () => {
    await openTabThatKeeps('old')
    advance(31 * DAY_MS)
    await openTabThatKeeps('new')
    expect(await stored()).toEqual(['new'])
  })

  it('leaves an envelope in flight alone for 15 s, after which another visit sends it', async () => {
    const posted = holdPost()
    void send(openTab(), 'in flight')
    await posted
    answer = accept
    await send(openTab(), 'of the next visit')
    online()
    await send(openTab(), 'of another visit')
    expect(postsOf('in flight')).toHaveLength(1)
    onlineAfter(15_000)
    await expect.poll(() => postsOf('in flight')).toHaveLength(2)
    await expect.poll(stored).toEqual([])
  })

  it('does not send an envelope again while its post is in flight, however long that takes', async () => {
    const client = await openTabThatKeeps('tried')
    const posted = holdPost()
    const sent = send(client, 'slow')
    const response = await posted
    answer = accept
    const take = vi.spyOn(EnvelopeStore.prototype, 'take')
    onlineAfter(MINUTE_MS)
    const nothing = { value: { nextAt: expect.any(Number) } }
    await expect.poll(() => take.mock.settledResults.at(-1)).toMatchObject(nothing)
    expect(await stored()).toEqual(['slow'])
    response.end('{}')
    expect(await sent).toMatchObject({ statusCode: 200 })
    expect(postsOf('slow')).toHaveLength(1)
  })

  it('sends at once what a closing page reports, and does not promise to keep it', async () => {
    const client = openTab()
    const sent = send(client, 'before')
    hidePage()
    await send(client, 'after')
    await sent
    for (const text of ['before', 'after']) expect(urlsOf(text)).toEqual(['/monitoring?p=2'])
    expect(Object.keys(localStorage)).toEqual([])
  })

  it('keeps what a browser would not send after the page is closed, until the next visit', async () => {
    const client = openLeftTab()
    expect(await send(client, LARGE)).toEqual({ statusCode: 202 })
    expect(Object.keys(localStorage)).toHaveLength(1)
    expect(tunnel.asked).toEqual([])
    openTab()
    await expect.poll(() => urlsOf(LARGE)).toEqual([KEPT])
    expect(Object.keys(localStorage)).toEqual([])
    await expect.poll(stored).toEqual([])
  })

  it('keeps 30 envelopes and a million characters of closing pages', async () => {
    const client = openLeftTab()
    const lengths = () => Object.values({ ...localStorage }).map((text) => String(text).length)
    const sendAll = (count: number, text: string) =>
      Promise.all(Array.from({ length: count }, () => send(client, text)))
    await sendAll(5, 'x'.repeat(300_000))
    expect(lengths()).toHaveLength(3)
    await sendAll(60, 'y'.repeat(3_000))
    expect(lengths()).toHaveLength(30)
    expect(lengths().reduce((sum, each) => sum + each)).toBeLessThan(1_000_000)
  })

  it('keeps the bytes of a replay of a closing page', async () => {
    const client = openLeftTab()
    const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256)
    const item = [{ type: 'replay_recording', length: bytes.length }, bytes]
    void client.sendEnvelope([{}, [item]] as unknown as Envelope)
    openTab()
    await expect.poll(() => tunnel.asked.length).toBe(1)
    expect(tunnel.asked[0]?.body.includes(Buffer.from(bytes))).toBe(true)
  })

  it('sends what an earlier page keeps after this one has begun', async () => {
    const earlier = openLeftTab()
    openTab()
    await expect.poll(() => timers.mock.calls.map(([, delay]) => delay)).toContain(60 * MINUTE_MS) // found nothing
    keepIn(earlier)
    await expect.poll(() => urlsOf(LARGE)).toEqual([KEPT])
    expect(Object.keys(localStorage)).toEqual([])
  })

  it('sends what another page keeps while the post of a stored envelope does not end', async () => {
    const other = await openTabThatKeeps('slow')
    hidePage()
    const held = holdResponses()
    advance(MINUTE_MS)
    const client = openTab()
    await expect.poll(() => postsOf('slow')).toHaveLength(2)
    keepIn(other)
    await expect.poll(() => urlsOf(LARGE)).toEqual([KEPT])
    await held.accept(client)
  })

  it('sends what it keeps when the page comes back', async () => {
    const client = openLeftTab()
    void send(client, LARGE)
    page.dispatchEvent(new Event('pageshow'))
    await expect.poll(() => urlsOf(LARGE)).toEqual([KEPT])
  })

  it.each([
    ['offline', { onLine: false }],
    ['a service worker', { serviceWorker: { controller: {} } }],
  ])('posts and keeps an event of a closing page with %s, but no other envelope', async (_, properties) => {
    Object.assign(navigator, properties)
    const held = holdResponses()
    const client = openLeftTab()
    for (const type of ['event', 'session']) void send(client, type, type)
    await expect.poll(() => tunnel.asked.map(({ url }) => url)).toEqual([KEPT, '/monitoring?p=2'])
    expect(Object.keys(localStorage)).toHaveLength(1)
    await held.accept(client)
  })

  it('removes what it keeps once the tunnel has responded', async () => {
    Object.assign(navigator, { serviceWorker: { controller: {} } })
    const client = openLeftTab()
    await send(client, 'answered')
    expect(Object.keys(localStorage)).toEqual([])
  })

  it('keeps what waits for other posts when the page is closed', async () => {
    vi.stubGlobal('indexedDB', undefined)
    const held = holdResponses()
    const client = openTab()
    for (let i = 0; i < 20; i++) void send(client, `waiting ${i}`)
    await expect.poll(() => tunnel.asked.length).toBe(15)
    hidePage()
    const kept = Object.values({ ...localStorage }).join()
    for (const i of [15, 16, 17, 18, 19]) expect(kept).toContain(`waiting ${i}`)
    expect(kept).not.toContain('waiting 0')
    await held.accept(client)
    expect(Object.keys(localStorage)).toEqual([])
  })

  it('begins no transaction while the page is being closed, and ends those that are open', async () => {
    const client = openTab()
    await send(client, 'first')
    const begun = vi.spyOn(IDBDatabase.prototype, 'transaction')
    const aborted = vi.spyOn(IDBTransaction.prototype, 'abort')
    const sent = send(client, 'second')
    await expect.poll(() => begun.mock.calls).toHaveLength(1)
    hidePage()
    expect(aborted).toHaveBeenCalledTimes(1)
    await sent
    await send(client, 'third')
    expect(begun).toHaveBeenCalledTimes(1)
    expect(await stored()).toEqual([])
  })

  it('aborts the removal of an accepted envelope when the page is closed, and sends it again at the next visit', async () => {
    const client = openTab()
    await send(client, 'first')
    const { transaction } = IDBDatabase.prototype
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...args) {
      if (postsOf('second').length > 0) queueMicrotask(hidePage)
      return transaction.apply(this, args)
    })
    await send(client, 'second')
    vi.mocked(IDBDatabase.prototype.transaction).mockRestore()
    expect(await stored()).toEqual(['second'])
    advance(15_000)
    openTab()
    await expect.poll(() => postsOf('second')).toHaveLength(2)
  })

  it('waits for a database that does not answer for 300 ms, once in a page', async () => {
    vi.spyOn(indexedDB, 'open').mockReturnValue({} as IDBOpenDBRequest)
    const start = performance.now()
    const client = openTab()
    for (let i = 0; i < 10; i++) await send(client, `unstored ${i}`)
    expect(timers.mock.calls.filter(([, delay]) => delay === PATIENCE_MS)).toHaveLength(1)
    expect(performance.now() - start).toBeLessThan(2_500) // ten times 300 ms would be more
    expect(tunnel.asked.map(({ url }) => url)).toEqual(Array(10).fill('/monitoring?p=2'))
  })

  it('waits for a transaction that does not end for 300 ms, once in a page', async () => {
    const client = openTab()
    await send(client, 'first')
    const release = await holdDatabase()
    timers.mockClear()
    for (let i = 0; i < 10; i++) await send(client, `unstored ${i}`)
    expect(timers.mock.calls.filter(([, delay]) => delay === PATIENCE_MS)).toHaveLength(1)
    expect(urlsOf('unstored 9')).toEqual(['/monitoring?p=2'])
    release()
  })

  describe('with a visitor who has asked for privacy since', () => {
    /** Stores an envelope of each type, keeps an event and a replay of the page that is left, and opens the next page, whose visitor sends `Sec-GPC`. */
    async function keepThenAsk(privacy: string, types: string[]): Promise<void> {
      const client = await openTabThatKeeps()
      for (const type of types) await send(client, `${type} of before`, type)
      hidePage()
      void send(client, LARGE)
      void send(client, LARGE, 'replay_event')
      answer = accept
      tunnel.asked.length = 0
      Object.assign(navigator, { globalPrivacyControl: true })
      advance(MINUTE_MS)
      openTab(MAX_BUFFERED, privacy)
    }

    it.each([
      ['errors', ['event', 'replay_event', 'transaction', 'log', 'session'], ['event', 'event', 'session']],
      ['mark', ['replay_event'], ['event', 'replay_event', 'replay_event']],
      ['off', ['event', 'session'], []],
    ])('follows PRIVACY_SIGNAL=%s: of an event, a replay and %j sends %j', async (privacy, types, sent) => {
      const typesOf = () => tunnel.asked.map(({ body }) => /"type":"(\w+)"/.exec(String(body))?.[1]).sort()
      await keepThenAsk(privacy, types)
      await expect.poll(typesOf).toEqual(sent)
      await expect.poll(async () => [await stored(), Object.keys(localStorage)]).toEqual([[], []])
      expect(typesOf()).toEqual(sent)
    })

    it('sends errors with the tag of this signal', async () => {
      await keepThenAsk('errors', ['event'])
      await expect.poll(() => postsOf('event of before')).toHaveLength(1)
      expect(JSON.parse(String(postsOf('event of before')[0]?.body).split('\n')[2] ?? '')).toEqual({
        message: 'event of before',
        tags: { gpc: true },
      })
    })
  })

  it.each([
    ['a key of another form', 'key', { body: new Uint8Array(), attempts: 0, notBefore: 0 }],
    ['a key with another part', [0, 'size', 1, 0], { body: new Uint8Array(), attempts: 0, notBefore: 0 }],
    ['no body', [0, 0, 1, 0], { attempts: 0, notBefore: 0 }],
    ['a body of another kind', [0, 0, 1, 0], { body: 'text', attempts: 0, notBefore: 0 }],
    ['a time of another kind', [0, 0, 1, 0], { body: new Uint8Array(), attempts: 0, notBefore: 'soon' }],
    ['no value', [0, 0, 1, 0], null],
    ['a body that is no envelope', [0, 0, 1, 0], { body: Buffer.from('text'), attempts: 0, notBefore: 0 }],
  ])('removes an entry with %s, and sends the others', async (_, key, value) => {
    await openTabThatKeeps('stored')
    const database = await ended(indexedDB.open(DATABASE))
    await ended(database.transaction('queue', 'readwrite').objectStore('queue').put(value, key))
    database.close()
    answer = accept
    advance(MINUTE_MS)
    openTab()
    await expect.poll(() => postsOf('stored')).toHaveLength(2)
    await expect.poll(values).toEqual([])
  })

  it.each([
    ['without a queue', () => {}],
    ['with a store of another name', (database: IDBDatabase) => void database.createObjectStore('other')],
    [
      'with keys in its values',
      (database: IDBDatabase) => void database.createObjectStore('queue', { keyPath: 'id' }),
    ],
  ])('replaces a database of its name %s', async (_, create) => {
    const opening = indexedDB.open(DATABASE, 7)
    opening.onupgradeneeded = () => create(opening.result)
    ;(await ended(opening)).close()
    answer = respond(503)
    expect(await send(openTab(), 'stored')).toEqual({ statusCode: 202 })
    expect(await stored()).toEqual(['stored'])
    expect(warnings).toEqual([])
  })

  it('forgets what is stored when the page says so', async () => {
    const client = await openTabThatKeeps('stored')
    hidePage()
    void send(client, LARGE)
    localStorage.setItem('culvert-offline?p=21 kept', 'of another project')
    await clearStored('culvert-offline?p=2')
    expect(Object.keys(localStorage)).toEqual(['culvert-offline?p=21 kept'])
    page.dispatchEvent(new Event('pageshow'))
    await send(client, 'later')
    expect(await stored()).toEqual(['later'])
  })

  it('lets the browser complete a post after the page is closed up to 60,000 bytes, in UTF-8', async () => {
    const client = openTab()
    await send(client, '語'.repeat(19_000))
    await send(client, '語'.repeat(21_000))
    const own = posted.filter(({ body }) => String(body).includes('語'))
    expect(own.map(({ keepalive }) => keepalive)).toEqual([true, false])
  })

  it('reports the loss of an envelope that is neither accepted nor stored, and says so once', async () => {
    vi.stubGlobal('indexedDB', undefined)
    answer = disconnect
    const client = openTab()
    for (let i = 0; i < 2; i++) expect(await send(client, 'lost')).toEqual({})
    expect(recordDropped.mock.calls).toEqual([
      ['network_error', 'error'],
      ['network_error', 'error'],
    ])
    answer = accept
    expect(await send(client, 'accepted')).toMatchObject({ statusCode: 200 })
    expect(warnings).toEqual([expect.stringMatching(/^Culvert: reports that cannot be sent now are lost/)])
  })

  it.each([
    ['408', 'event', [['network_error', 'error']], respond(408, 'body-timeout')],
    ['429 of the tunnel', 'event', [['ratelimit_backoff', 'error']], throttle],
    ['429 of a proxy', 'event', [['ratelimit_backoff', 'error']], respond(429)],
    ['429 of the tunnel', 'session', [['network_error', 'session']], throttle],
    ['503 tunnel-busy', 'event', [['network_error', 'error']], respond(503, 'tunnel-busy')],
    ['429 with a report', 'event', [], respond(429, 'throttled', '10:error:key:tunnel', REPORTED)],
    ['429 with a report', 'session', [], respond(429, 'throttled', '10:session:key:tunnel', REPORTED)],
    ['503 with a report', 'event', [], respond(503, 'spool-full', '', REPORTED)],
  ])(
    'after %s to an envelope with %s that is not stored, reports the losses %j',
    async (_, type, losses, refuse) => {
      vi.stubGlobal('indexedDB', undefined)
      answer = refuse
      await send(openTab(), type, type)
      expect(recordDropped.mock.calls).toEqual(losses)
    },
  )

  it.each([
    ['the page has deleted the database', () => ended(indexedDB.deleteDatabase(DATABASE)), ['after']],
    [
      'the browser has closed the database without an event',
      (opened: IDBDatabase) => opened.close(),
      ['after', 'before'],
    ],
  ])('stores again after %s', async (_, lose, messages) => {
    const opening = vi.spyOn(indexedDB, 'open')
    const client = await openTabThatKeeps('before')
    await lose(opening.mock.results[0]?.value.result)
    expect(await send(client, 'after')).toEqual({ statusCode: 202 })
    expect((await stored()).sort()).toEqual(messages)
  })

  it('stores after the database could not be opened once', async () => {
    answer = respond(503)
    const open = indexedDB.open.bind(indexedDB)
    vi.spyOn(indexedDB, 'open').mockImplementationOnce((name) => {
      const request = open(name)
      request.addEventListener('upgradeneeded', (event) => {
        event.stopImmediatePropagation()
        request.transaction?.abort()
      })
      return request
    })
    const client = openTab()
    await send(client, 'first')
    await send(client, 'second')
    expect(await stored()).toContain('second')
  })

  /** Keeps other transactions waiting until it is called back, and lets those of the transport take too long. */
  async function holdDatabase(): Promise<() => void> {
    const database = await ended(indexedDB.open(DATABASE))
    const queue = database.transaction('queue', 'readwrite').objectStore('queue')
    let isHeld = true
    const hold = () => {
      if (isHeld) queue.count().onsuccess = hold
    }
    hold()
    timers.mockImplementation((callback, delay, ...args) =>
      setTimer(callback, delay === TRANSACTION_MS || delay === PATIENCE_MS ? 0 : delay, ...args),
    )
    return () => {
      isHeld = false
      database.close()
    }
  }

  it('sends an envelope while the database does not respond, and does not store it later', async () => {
    const client = openTab()
    await send(client, 'first')
    const release = await holdDatabase()
    await send(client, 'second')
    release()
    expect(urlsOf('second')).toEqual(['/monitoring?p=2'])
    expect(await stored()).toEqual([])
  })

  it.each([
    ['does not send an accepted envelope again', accept, 200, []],
    ['reports no loss of a stored envelope', respond(503), 202, ['sent']],
  ])('%s while the database does not respond', async (_, respondThen, statusCode, left) => {
    let release = () => {}
    answer = (asked, response) => {
      void holdDatabase().then((end) => {
        release = end
        respondThen(asked, response)
      })
    }
    expect(await send(openTab(), 'sent')).toMatchObject({ statusCode })
    release()
    expect(urlsOf('sent')).toEqual([KEPT])
    expect(await stored()).toEqual(left)
    expect(recordDropped).not.toHaveBeenCalled()
  })

  it('reads the store again 5 s after it could not be read, and then after twice the time up to an hour', async () => {
    const take = vi.spyOn(EnvelopeStore.prototype, 'take')
    openTab()
    await expect.poll(() => take.mock.settledResults).toMatchObject([{ value: { nextAt: Infinity } }])
    const seconds = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]
    for (const _ of seconds) take.mockResolvedValueOnce(undefined)
    take.mockImplementationOnce(async () => ({ nextAt: Date.now() + 1_000 })).mockResolvedValue(undefined)
    const expected = [0, ...seconds, 1, 5].map((each) => each * 1_000)
    const delays: number[] = []
    timers.mockImplementation((callback, delay = 0) => {
      delays.push(delay)
      return setTimer(callback, delays.length < expected.length ? 0 : delay)
    })
    online()
    await expect.poll(() => delays).toEqual(expected)
  })

  it('removes an envelope from the store whose commit took long', async () => {
    vi.spyOn(EnvelopeStore.prototype, 'take').mockResolvedValue({ nextAt: Infinity })
    const client = openTab()
    await send(client, 'first')
    const { dispatchEvent } = IDBTransaction.prototype
    let commit = () => {}
    let late = () => {}
    timers.mockImplementation((callback, delay, ...args) => {
      if (delay === PATIENCE_MS) late = callback
      return setTimer(callback, delay, ...args)
    })
    vi.spyOn(IDBTransaction.prototype, 'dispatchEvent').mockImplementationOnce(function (
      this: IDBTransaction,
      event,
    ) {
      commit = () => dispatchEvent.call(this, event)
      late()
      return true
    })
    answer = (_, response) => {
      commit()
      response.end('{}')
    }
    await send(client, 'slow')
    expect(urlsOf('slow')).toEqual([KEPT])
    expect(await stored()).toEqual([])
  })

  it('sends a new time with a stored envelope', async () => {
    const client = await openTabThatKeeps()
    client.captureMessage('kept')
    await client.flush(MINUTE_MS)
    answer = accept
    onlineAfter(DAY_MS)
    await expect.poll(() => postsOf('kept')).toHaveLength(2)
    const sentAt = postsOf('kept').map(({ body }) =>
      Date.parse(/"sent_at":"([^"]+)"/.exec(String(body))?.[1] ?? ''),
    )
    expect((sentAt[1] ?? 0) - (sentAt[0] ?? 0)).toBeGreaterThanOrEqual(DAY_MS)
  })

  it('never stores client reports', async () => {
    answer = respond(503)
    await send(openTab(), 'client_report', 'client_report')
    expect(urlsOf('client_report')).toEqual(['/monitoring?p=2'])
    expect(await stored()).toEqual([])
  })
})

function ended<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
