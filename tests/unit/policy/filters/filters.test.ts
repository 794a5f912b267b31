/** Filters of the operator, which read the fields of an item and not the text that it mentions. */

import { describe, expect, it } from 'vitest'
import { CSP_FILTERS, type FilterReason } from '../../../../contract/admin-api.ts'
import { ITEM_TYPES } from '../../../../tunnel/src/envelope/items.ts'
import type { FilterSettings } from '../../../../tunnel/src/policy/filters/filter-list.ts'
import { Filters } from '../../../../tunnel/src/policy/filters/filters.ts'
import { envelopeOf, type Part } from '../../../support/envelopes.ts'
import { readEnvelope, typesOf } from '../../../support/read-envelope.ts'

const OFF: FilterSettings = { nextNoise: false, on: new Set(), messages: [], releases: [], addresses: [] }
const ALL = ['browser-extensions', 'web-crawlers', 'legacy-browsers', 'localhost', 'health-checks']
const CSP = CSP_FILTERS.map((name) => `csp-${name}`)
const ON: FilterSettings = {
  nextNoise: true,
  on: new Set([...ALL, ...CSP]),
  messages: ['*'],
  releases: ['*'],
  addresses: ['0.0.0.0/0'],
}

/** All filters that read the payload, without patterns that match everything. */
const SPECIFIC: FilterSettings = {
  ...ON,
  on: new Set([...ON.on].filter((name) => name !== 'web-crawlers')),
  ...{ messages: ['x'], releases: ['x'] },
}

const on = (...names: string[]) => ({ on: new Set(names) })
const event = (payload: object): Part => ({ header: { type: 'event' }, payload: JSON.stringify(payload) })
const transaction = (payload: object): Part => ({
  header: { type: 'transaction' },
  payload: JSON.stringify({ type: 'transaction', ...payload }),
})
const thrown = (value: string, frames: object[] = [], type = 'Error') =>
  event({ exception: { values: [{ type, value, stacktrace: { frames } }] } })
const chain = (...values: object[]) => event({ exception: { values } })
const frame = (abs_path: string) => ({ abs_path, function: 'f', lineno: 1 })

function sift(settings: Partial<FilterSettings>, parts: Part[], userAgent?: string, address?: string) {
  const filters = new Filters({ ...OFF, ...settings })
  const { items } = filters.filter(
    readEnvelope(envelopeOf({}, parts), filters.reads),
    { userAgent, address },
    'project',
  )
  const [reason] = items.values()
  return reason && { dropped: typesOf(items.keys()), reason }
}

const reasonOf = (settings: Partial<FilterSettings>, part: Part, userAgent?: string) =>
  sift(settings, [part], userAgent)?.reason

type Row = [title: string, part: Part]

/** Describes a filter by parts that it filters, only while it is on, and by parts that it keeps. */
function describeFilter(
  name: string,
  settings: Partial<FilterSettings>,
  reason: FilterReason,
  { filtered, kept }: { filtered: Row[]; kept: Row[] },
): void {
  describe(name, () => {
    it.each(filtered)('filters %s', (_, part) => {
      expect(reasonOf(settings, part)).toBe(reason)
      expect(reasonOf({}, part)).toBeUndefined()
    })

    it.each(kept)('keeps %s', (_, part) => {
      expect(reasonOf(settings, part)).toBeUndefined()
    })
  })
}

/** Returns a row for each event, with its payload as the title. */
const eventsOf = (...payloads: object[]) =>
  payloads.map((payload): Row => [JSON.stringify(payload), event(payload)])

describeFilter('DROP_NEXT_NOISE', { nextNoise: true }, 'next-noise', {
  filtered: [
    ['the not-found page', transaction({ transaction: '/404' })],
    ['an incomplete transaction', transaction({ transaction: 'incomplete-app-router-transaction' })],
    ['the not-found page of the server', transaction({ transaction: 'GET /_not-found' })],
    ['a redirect', thrown('NEXT_REDIRECT')],
    ['a caught notFound()', thrown('NEXT_HTTP_ERROR_FALLBACK;404')],
    ['a caught notFound() of Next.js 14', thrown('NEXT_NOT_FOUND')],
  ],
  kept: [
    ['an error on the not-found page', event({ transaction: '/404', message: 'oops' })],
    ['a transaction with /404 in a tag', transaction({ transaction: '/', tags: { from: '/404' } })],
    ['a transaction with a longer path', transaction({ transaction: '/404/more' })],
    ['an error whose message mentions a redirect', thrown('NEXT_REDIRECT was thrown')],
    ['a forbidden page', thrown('NEXT_HTTP_ERROR_FALLBACK;403')],
    ['an error with a redirect as its cause', chain({ value: 'x' }, { value: 'NEXT_REDIRECT' })],
    [
      'an error whose breadcrumb is a redirect',
      event({ message: 'x', breadcrumbs: [{ message: 'NEXT_REDIRECT' }] }),
    ],
    [
      'a transaction with NEXT_REDIRECT as an exception',
      transaction({ transaction: '/', exception: { values: [{ value: 'NEXT_REDIRECT' }] } }),
    ],
  ],
})

const APP = frame('https://app.example/a.js')
const EXTENSION = frame('chrome-extension://abc/x.js')

describeFilter('browser-extensions', on('browser-extensions'), 'browser-extensions', {
  filtered: [
    ['an error by its message', thrown('Extension context invalidated.')],
    ['an error by its message in any case', thrown('EXTENSION CONTEXT INVALIDATED')],
    ['an error by its last frame', thrown('x', [APP, EXTENSION])],
    ['by the last frame with a URL', thrown('x', [EXTENSION, frame('<anonymous>'), frame('[native code]')])],
    [
      'an error whose frames have a filename but no abs_path',
      thrown('x', [{ filename: APP.abs_path }, { filename: EXTENSION.abs_path }]),
    ],
  ],
  kept: [
    ['an error with an extension in an earlier frame', thrown('x', [EXTENSION, APP])],
    ['an error whose last frame has no path', thrown('x', [EXTENSION, { function: 'f' }])],
    ['an error whose cause is an error of an extension', chain({ value: 'x' }, { value: 'conduitPage' })],
    [
      'a breadcrumb that names an extension',
      event({ message: 'x', breadcrumbs: [{ message: EXTENSION.abs_path }] }),
    ],
    [
      'a transaction with the message of an extension as its name',
      transaction({ transaction: 'conduitPage' }),
    ],
  ],
})

describe('legacy-browsers', () => {
  const legacyBrowsers = on('legacy-browsers')
  const IE11 = 'Mozilla/5.0 (Windows NT 6.3; Trident/7.0; rv:11.0) like Gecko'
  const OLD = [
    IE11,
    'Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.0; Trident/4.0)',
    'Mozilla/5.0 (compatible; MSIE 9.0; Windows Phone OS 7.5; Trident/5.0; IEMobile/9.0; NOKIA; Lumia 710)',
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.10136',
    'Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0.2228.0 Safari/537.36',
    'Mozilla/5.0 (Windows NT 6.1; WOW64; rv:52.0) Gecko/20100101 Firefox/52.0',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_3) AppleWebKit/537.75.14 (KHTML, like Gecko) Version/7.0.3 Safari/7046A194A',
    'Opera/9.80 (X11; Linux i686; Ubuntu/14.10) Presto/2.12.388 Version/12.16',
    'Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/28.0.1500.45 Safari/537.36 OPR/15.0.1147.61',
    'Opera/9.80 (J2ME/MIDP; Opera Mini/8.0.35158/36.2534; U; en) Presto/2.12.423 Version/12.16',
    'Mozilla/5.0 (Linux; U; Android 3.2; nl-nl; GT-P6800 Build/HTJ85B) AppleWebKit/534.13 (KHTML, like Gecko) Version/4.0 Safari/534.13',
  ]
  const CURRENT = [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
    'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 10_0 like Mac OS X) AppleWebKit/602.1.50 (KHTML, like Gecko) Version/10.0 Mobile/14A346 Safari/602.1',
    'Mozilla/5.0 (Linux; Android 9; SM-G960F) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/10.1 Chrome/60.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0 (Linux; U; Android 4.1.1; en-gb; Build/KLP) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Safari/534.30',
    'sentry.python/2.40.0',
  ]

  it.each(OLD)('filters an error of %s', (agent) => {
    const part = event({ message: 'x', request: { headers: { 'User-Agent': agent } } })
    expect(reasonOf(legacyBrowsers, part)).toBe('legacy-browsers')
    expect(reasonOf(legacyBrowsers, event({ message: 'x' }), agent)).toBe('legacy-browsers')
    expect(reasonOf({}, part)).toBeUndefined()
  })

  it.each(CURRENT)('does not filter an error of %s', (agent) => {
    const part = event({ message: IE11, request: { headers: [['user-agent', agent]] } })
    expect(reasonOf(legacyBrowsers, part, agent)).toBeUndefined()
  })

  it('reads the name and version of the browser of logs and spans', () => {
    const log = (name: string, version: string): Part => ({
      header: { type: 'log', item_count: 1 },
      payload: JSON.stringify({
        items: [
          {
            body: 'x',
            attributes: { 'browser.name': { value: name }, 'browser.version': { value: version } },
          },
        ],
      }),
    })
    expect(reasonOf(legacyBrowsers, log('Firefox', '52.0'))).toBe('legacy-browsers')
    expect(reasonOf(legacyBrowsers, log('Firefox', '145.0'))).toBeUndefined()
    expect(reasonOf(legacyBrowsers, log('Chrome Mobile', '20.0'))).toBeUndefined()
  })
})

describe('Addresses', () => {
  const addresses = { addresses: ['198.51.100.0/24', '2001:db8::/48'] }

  it.each(['198.51.100.7', '2001:db8::1'])('filters everything of %s that Relay filters', (address) => {
    for (const type of ['event', 'session', 'span', 'raw_security'])
      expect(sift(addresses, [{ header: { type }, payload: '{}' }], undefined, address)?.reason).toBe(
        'ip-address',
      )
    expect(
      sift(addresses, [{ header: { type: 'client_report' }, payload: '{}' }], '', address),
    ).toBeUndefined()
  })

  it.each(['198.51.101.7', '2001:db8:1::1', undefined])('does not filter an error of %s', (address) => {
    expect(sift(addresses, [event({ message: '198.51.100.7' })], undefined, address)).toBeUndefined()
  })
})

describe('A filter reads what Sentry makes of an event', () => {
  const raw = (payload: string): Part => ({ header: { type: 'event' }, payload })
  const messages = { messages: ['Hello world', 'E: gone', 'E: 5', 'E: *"code":7*', '404'] }

  it.each([
    ['parameters', { logentry: { message: 'Hello %s', params: ['world'] } }],
    ['parameters in braces', { logentry: { message: 'Hello {}', params: ['world'] } }],
    ['numbered parameters', { logentry: { message: '{1} {0}', params: ['world', 'Hello'] } }],
    ['named parameters', { logentry: { message: 'Hello %(who)s', params: { who: 'world' } } }],
    ['named parameters in braces', { logentry: { message: 'Hello {who}', params: { who: 'world' } } }],
    ['a formatted message', { message: { message: 'x', formatted: 'Hello world' } }],
    ['a log entry that is a text', { logentry: 'Hello world' }],
    ['the interface of old SDKs', { 'sentry.interfaces.Message': { message: 'Hello world' } }],
    ['a list of exceptions', { exception: [{ type: 'E', value: 'gone' }] }],
    ['a single exception', { exception: { type: 'E', value: 'gone' } }],
    ['an exception whose value is a number', { exception: [{ type: 'E', value: 5 }] }],
    ['an exception whose value is an object', { exception: [{ type: 'E', value: { code: 7 } }] }],
    ['a message that is a number', { message: 404 }],
    ['exceptions of old SDKs', { 'sentry.interfaces.Exception': [{ type: 'E', value: 'gone' }] }],
  ])('%s', (_, payload) => {
    expect(reasonOf(messages, event(payload))).toBe('error-message')
  })

  it.each([
    ['a parameter is missing', { logentry: { message: 'Hello %s %s', params: ['world'] } }],
    ['a parameter is null', { logentry: { message: 'Hello %s', params: [null] } }],
    ['there are no parameters', { logentry: { message: 'Hello %s' } }],
  ])('a message as it is if %s', (_, payload) => {
    expect(reasonOf(messages, event(payload))).toBeUndefined()
    expect(reasonOf({ messages: ['Hello %s*'] }, event(payload))).toBe('error-message')
  })

  it.each([
    [
      on('browser-extensions'),
      String.raw`{"exception":{"values":[{"value":"can\u0027t access dead object"}]}}`,
    ],
    [
      on('browser-extensions'),
      String.raw`{"exception":{"values":[{"value":"x","stacktrace":{"frames":[{"abs_path":"chrome\u002dextension:\/\/x\/y.js"}]}}]}}`,
    ],
    [{ messages: ['gone'] }, String.raw`{"m\u0065ssage":"gone"}`],
    [on('localhost'), String.raw`{"request":{"\u0075rl":"http:\/\/localhost\/"}}`],
  ])('escapes of JSON: %j', (settings, payload) => {
    expect(reasonOf(settings, raw(payload))).toBeDefined()
  })
})

const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

describe('web-crawlers', () => {
  it('does not filter an item that only mentions a crawler, or has no user agent', () => {
    expect(reasonOf(on('web-crawlers'), event({ message: GOOGLEBOT }), 'Mozilla/5.0')).toBeUndefined()
    expect(reasonOf(on('web-crawlers'), event({ message: 'x' }))).toBeUndefined()
  })

  it.each([{ 'User-Agent': GOOGLEBOT }, [['user-agent', GOOGLEBOT]]])(
    'filters an event by the user agent in its request, when the SDK runs on a server: %j',
    (headers) => {
      const part = event({ message: 'x', request: { headers } })
      expect(reasonOf(on('web-crawlers'), part, 'sentry.javascript.node/11.1.0')).toBe('web-crawlers')
      expect(reasonOf({}, part)).toBeUndefined()
    },
  )
})

describeFilter('localhost', on('localhost'), 'localhost', {
  filtered: [
    ...[
      'http://localhost:3000/shop',
      'http://app.localhost/',
      'http://LOCALHOST/',
      'http://loc%61lhost/',
      'https://127.0.0.1/',
      'http://127.1/',
      'http://2130706433/',
      'http://0x7f.0.0.1/',
      'http://0177.0.0.1:3000/x',
      'http://１２７.0.0.1/',
      'file:///home/index.html',
    ].map((url): Row => [url, event({ request: { url } })]),
    ...eventsOf(
      { request: { headers: { Host: 'localhost:3000' } } },
      { request: { headers: [['x-forwarded-host', '127.0.0.1']] } },
      { user: { ip_address: '127.0.0.1' } },
      { user: { ip_address: '::1' } },
    ),
    ['a transaction', transaction({ transaction: '/', request: { url: 'http://localhost/' } })],
  ],
  kept: [
    ...[
      'https://app.example/localhost',
      'https://localhost.example/',
      'https://notlocalhost/',
      'localhost',
      'http://[::1]:8080/', // as Relay does
    ].map((url): Row => [url, event({ request: { url } })]),
    ...eventsOf(
      { request: { headers: { Host: 'localhost.example:3000' } } },
      { message: 'cannot reach http://localhost:3000/' },
      { user: { ip_address: '203.0.113.7' }, server_name: 'localhost' },
    ),
  ],
})

describe('health-checks', () => {
  const healthChecks = on('health-checks')

  it('does not filter errors, or transactions that only mention a health check', () => {
    expect(reasonOf(healthChecks, event({ transaction: '/healthz', message: '/healthz' }))).toBeUndefined()
    expect(
      reasonOf(healthChecks, transaction({ transaction: '/shop', tags: { a: '/healthz' } })),
    ).toBeUndefined()
  })
})

const MESSAGES = { messages: ['ChunkLoadError: Loading chunk *', '*ResizeObserver*', 'Lonely', '*größe*'] }

describeFilter('Error messages', MESSAGES, 'error-message', {
  filtered: [
    ['an event by type and value', thrown('Loading chunk 12 failed.', [], 'ChunkLoadError')],
    ['an event by the message', event({ message: 'a ResizeObserver loop' })],
    [
      'an event by the log entry',
      event({ logentry: { formatted: 'a ResizeObserver loop', message: 'a %s loop' } }),
    ],
    ['an event by the template of the log entry', event({ logentry: { message: 'resizeobserver' } })],
    ['an event by a type without a value', chain({ type: 'Lonely' })],
    ['an event by a value without a type', chain({ value: 'lonely' })],
    ['an event by any exception of a chain', chain({ value: 'x' }, { value: 'ResizeObserver' })],
    ['an event by characters beyond ASCII', event({ message: 'die Größe fehlt' })],
  ],
  kept: [
    ['a message that is longer than the pattern', event({ message: 'A Lonely one' })],
    ['an event with the text in another field', event({ message: 'x', extra: { note: 'ResizeObserver' } })],
    ['a transaction', transaction({ transaction: 'ResizeObserver', message: 'ResizeObserver' })],
  ],
})

describeFilter('Releases', { releases: ['shop@1.*'] }, 'release-version', {
  filtered: [
    ['an event whose whole release matches', event({ release: 'shop@1.2.3' })],
    ['a transaction, in any case', transaction({ transaction: '/', release: 'SHOP@1.0' })],
    ['an event whose release has blanks around it', event({ release: ' shop@1.2\n' })],
  ],
  kept: eventsOf(
    { release: 'shop@2.0', dist: 'shop@1.0' },
    { message: 'release shop@1.0' },
    { release: '' },
    { release: 1 },
  ),
})

it('The pattern * filters no event without a message or a release', () => {
  expect(reasonOf({ messages: ['*'] }, event({ message: '', level: 'error' }))).toBeUndefined()
  expect(reasonOf({ releases: ['*'] }, event({ message: 'x' }))).toBeUndefined()
})

it('A filtered item is removed with its dependants, and other items are kept', () => {
  const parts: Part[] = [
    thrown('NEXT_REDIRECT'),
    { header: { type: 'attachment' }, payload: 'x' },
    { header: { type: 'session' }, payload: '{}' },
    { header: { type: 'client_report' }, payload: '{}' },
  ]
  expect(sift({ nextNoise: true }, parts)).toEqual({ dropped: ['event', 'attachment'], reason: 'next-noise' })
})

const VISITED = {
  release: 'shop@1',
  request: { url: 'http://localhost/', headers: { 'User-Agent': GOOGLEBOT } },
}

/** One item of each type that Relay filters, with the fields that Relay reads of it. */
const FILTERABLE: Record<string, object> = {
  event: VISITED,
  feedback: VISITED,
  transaction: { transaction: 'GET /healthz', ...VISITED },
  replay_event: {
    release: 'shop@1',
    user: { ip_address: '127.0.0.1' },
    request: { headers: { 'User-Agent': GOOGLEBOT } },
  },
  session: { attrs: { release: 'shop@1', user_agent: GOOGLEBOT, ip_address: '::1' } },
  sessions: { attrs: { release: 'shop@1', user_agent: GOOGLEBOT, ip_address: '127.0.0.1' } },
  span: {
    data: {
      'sentry.segment.name': 'GET /healthz',
      'sentry.release': 'shop@1',
      'user_agent.original': GOOGLEBOT,
      'url.full': 'http://app.localhost/',
    },
  },
  profile_chunk: { release: 'shop@1' },
}

const container = (type: string, ...elements: object[]): Part => ({
  header: { type, item_count: elements.length },
  payload: JSON.stringify({ version: 2, items: elements }),
})
const attributes = (values: Record<string, string>) => ({
  attributes: Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, { value, type: 'string' }]),
  ),
})

const LOCATED = ['event', 'feedback', 'transaction', 'replay_event', 'session', 'sessions', 'span']
const CONTAINERS = ['span', 'log', 'trace_metric']

describe('Item types that Relay filters', () => {
  const part = (type: string): Part => ({
    header: { type },
    payload: JSON.stringify(FILTERABLE[type] ?? {}),
  })

  it.each([...Object.keys(FILTERABLE)])('are filtered by release: %s', (type) => {
    expect(reasonOf({ releases: ['shop@1'] }, part(type))).toBe('release-version')
    expect(reasonOf({ releases: ['shop@2'] }, part(type))).toBeUndefined()
  })

  it.each(LOCATED)(
    'are filtered by address, URL or host, and by the user agent in the payload: %s',
    (type) => {
      expect(reasonOf(on('localhost'), part(type))).toBe('localhost')
      expect(reasonOf(on('web-crawlers'), part(type))).toBe('web-crawlers')
    },
  )

  it.each([...Object.keys(FILTERABLE), ...CONTAINERS])(
    'are filtered by the User-Agent header of the request: %s',
    (type) => {
      expect(reasonOf(on('web-crawlers'), { header: { type }, payload: '{}' }, GOOGLEBOT)).toBe(
        'web-crawlers',
      )
    },
  )

  it.each(['transaction', 'span'])('are filtered as health checks: %s', (type) => {
    expect(reasonOf(on('health-checks'), part(type))).toBe('filtered-transaction')
  })

  it.each(CONTAINERS)('are filtered in a container: %s', (type) => {
    const ofRelease = container(type, attributes({ 'sentry.release': 'shop@1' }))
    expect(reasonOf({ releases: ['shop@1'] }, ofRelease)).toBe('release-version')
    const ofBrowser = container(type, attributes({ 'browser.name': 'Googlebot' }))
    expect(reasonOf(on('web-crawlers'), ofBrowser)).toBe('web-crawlers')
    const ofCrawler = container(type, attributes({ 'user_agent.original': GOOGLEBOT }))
    expect(reasonOf(on('web-crawlers'), ofCrawler)).toBe('web-crawlers')
  })

  it('are filtered as health checks in a container of spans', () => {
    const part = container('span', attributes({ 'sentry.segment.name': 'GET /healthz' }))
    expect(reasonOf(on('health-checks'), part)).toBe('filtered-transaction')
  })

  it('are the only types that are filtered', () => {
    const settings = { ...ON, messages: ['*'], releases: ['*'] }
    for (const type of ITEM_TYPES)
      if (!FILTERABLE[type] && !CONTAINERS.includes(type))
        expect(
          sift(settings, [{ header: { type }, payload: '{"release":"x","message":"x"}' }], GOOGLEBOT),
        ).toBeUndefined()
  })
})

describe('A payload', () => {
  it('is not read when every filter is off', () => {
    const { reads } = new Filters(OFF)
    for (const type of [...ITEM_TYPES, 'invented']) expect(reads(type)).toBe(false)
  })

  it('is read only of errors, transactions and spans when only DROP_NEXT_NOISE is on', () => {
    const { reads } = new Filters({ ...OFF, nextNoise: true })
    expect([...ITEM_TYPES].filter(reads).sort()).toEqual(['event', 'span', 'transaction'])
  })

  it.each([
    '',
    '[]',
    'null',
    '"NEXT_REDIRECT"',
    '{"exception":',
    'NEXT_REDIRECT',
    '{"exception":{"values":null}}',
    ...[
      { exception: { values: {} } },
      { exception: { values: [null] } },
      { exception: { values: [{ value: 'conduit', stacktrace: { frames: [null] } }] } },
      { exception: { values: [{ value: 'conduit', stacktrace: { frames: {} } }] } },
      { exception: { values: 'conduitpage' } },
      { logentry: null, message: null, request: null, user: null },
    ].map((members) => JSON.stringify({ note: 'conduitPage localhost ::1', release: 1, ...members })),
  ])('of an unexpected form is not filtered, and no error is thrown: %s', (payload) => {
    expect(reasonOf(SPECIFIC, { header: { type: 'event' }, payload })).toBeUndefined()
  })

  it('with more than 50,000 values is not parsed', () => {
    const noise = (values: number) => ({
      header: { type: 'event' },
      payload: `{"exception":{"values":[{"value":"NEXT_REDIRECT"}]},"x":[${'1,'.repeat(values)}1]}`,
    })
    expect(sift({ ...OFF, nextNoise: true }, [noise(40_000)])?.reason).toBe('next-noise')
    expect(sift({ ...OFF, nextNoise: true }, [noise(50_001)])).toBeUndefined()
  })

  it('is kept up to 2 MiB of an envelope', () => {
    const { reads } = new Filters(ON)
    const parts = Array.from({ length: 50 }, () => event({ message: 'x'.repeat(100_000) }))
    const { items } = readEnvelope(envelopeOf({}, parts), reads)
    const kept = items.filter(({ payload }) => payload.length > 0)
    expect(kept).toHaveLength(20)
    for (const { payload, bytes } of kept) expect(Buffer.concat(payload)).toHaveLength(bytes)
  })

  it('in two chunks is matched like one in a single chunk', () => {
    const filters = new Filters({ ...OFF, nextNoise: true })
    const whole = readEnvelope(envelopeOf({}, [thrown('NEXT_REDIRECT')]), filters.reads)
    const [item] = whole.items
    const [payload = Buffer.alloc(0)] = item?.payload ?? []
    for (let cut = 0; cut <= payload.length; cut++) {
      const items = whole.items.map((one) => ({
        ...one,
        payload: [payload.subarray(0, cut), payload.subarray(cut)],
      }))
      expect([...filters.filter({ ...whole, items }, {}, 'project').items.values()]).toEqual(['next-noise'])
    }
  })
})

describe('Filters of CSP reports', () => {
  const cspReport = (blocked: string, source = ''): Part => ({
    header: { type: 'raw_security' },
    payload: JSON.stringify({ 'csp-report': { 'blocked-uri': blocked, 'source-file': source } }),
  })

  it.each<[reason: FilterReason, blocked: string, source?: string]>([
    ['csp-extensions', 'chrome-extension'],
    ['csp-extensions', 'moz-extension://0d0c/inject.js'],
    ['csp-extensions', 'https://cdn.example/a.js', 'safari-web-extension://A/content.js'],
    ['csp-extensions', 'inline', 'moz-extension'],
    ['csp-about', 'about'],
    ['csp-about', 'about:blank'],
    ['csp-about', 'data:text/html,chromewebdata'],
    ['csp-blob', 'blob'],
    ['csp-blob', 'blob:https://shop.example/0d0c'],
    ['csp-injected-scripts', 'https://injections.adguard.com/a.js'],
    ['csp-injected-scripts', 'https://www.superfish.com/ws/sf_main.jsp'],
    ['csp-injected-scripts', 'https://superfish.com/'],
    ['csp-injected-scripts', 'inline', 'https://static.image2play.com/a.js'],
    ['csp-localhost', 'http://localhost:35729/livereload.js'],
  ])('filters as %s what was blocked: %s, by %s', (reason, blocked, source) => {
    expect(reasonOf(on(...CSP), cspReport(blocked, source))).toBe(reason)
    expect(reasonOf(on(reason), cspReport(blocked, source))).toBe(reason)
    const others = CSP.filter((each) => each !== reason)
    expect(reasonOf(on(...others), cspReport(blocked, source))).toBeUndefined()
  })

  it.each([
    ['inline', 'https://shop.example/'],
    ['eval', ''],
    ['data', ''],
    ['https://evil.example/chrome-extension', ''],
    ['https://notsuperfish.com/', ''],
    ['https://about.example/', 'https://shop.example/blob.js'],
  ])('keeps a report of what was blocked: %s, by %s', (blocked, source) => {
    expect(reasonOf(on(...CSP), cspReport(blocked, source))).toBeUndefined()
  })

  it('reads the form of the Reporting API too', () => {
    const payload = JSON.stringify({ type: 'csp-violation', body: { blockedURL: 'chrome-extension' } })
    expect(reasonOf(on(...CSP), { header: { type: 'raw_security' }, payload })).toBe('csp-extensions')
  })
})
