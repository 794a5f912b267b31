/** Filters of the operator, which drop an event by its fields, not by text that it mentions. */

import { describe, expect, it } from 'vitest'
import type { FilterReason } from '../../../tunnel/src/contract.ts'
import { ITEM_TYPES } from '../../../tunnel/src/envelope/items.ts'
import type { FilterSettings } from '../../../tunnel/src/policy/filters.ts'
import { Filters } from '../../../tunnel/src/policy/filters.ts'
import { envelopeOf, type Part } from '../../support/envelopes.ts'
import { readEnvelope, typesOf } from '../../support/read-envelope.ts'

const OFF: FilterSettings = {
  nextNoise: false,
  browserExtensions: false,
  webCrawlers: false,
  localhost: false,
  healthChecks: false,
  errorMessages: [],
  releases: [],
}
const ON: FilterSettings = {
  nextNoise: true,
  browserExtensions: true,
  webCrawlers: true,
  localhost: true,
  healthChecks: true,
  errorMessages: ['*'],
  releases: ['*'],
}

const event = (payload: object): Part => ({ header: { type: 'event' }, payload: JSON.stringify(payload) })
const transaction = (payload: object): Part => ({
  header: { type: 'transaction' },
  payload: JSON.stringify({ type: 'transaction', ...payload }),
})
const thrown = (value: string, frames: object[] = [], type = 'Error') =>
  event({ exception: { values: [{ type, value, stacktrace: { frames } }] } })
const frame = (abs_path: string) => ({ abs_path, function: 'f', lineno: 1 })

function sift(settings: Partial<FilterSettings>, parts: Part[], userAgent?: string) {
  const filters = new Filters({ ...OFF, ...settings })
  const found = filters.filter(readEnvelope(envelopeOf({}, parts), filters.reads), userAgent)
  return found && { dropped: typesOf(found.dropped), reason: found.reason }
}

const reasonOf = (settings: Partial<FilterSettings>, part: Part, userAgent?: string) =>
  sift(settings, [part], userAgent)?.reason

describe('Noise of Next.js', () => {
  const nextNoise = { nextNoise: true }

  it.each([
    ['the not-found page', transaction({ transaction: '/404' })],
    ['an incomplete transaction', transaction({ transaction: 'incomplete-app-router-transaction' })],
    ['a redirect', thrown('NEXT_REDIRECT')],
  ])('is dropped: %s', (_, part) => {
    expect(reasonOf(nextNoise, part)).toBe('next-noise')
    expect(reasonOf({}, part)).toBeUndefined()
  })

  it.each([
    ['an error on the not-found page', event({ transaction: '/404', message: 'oops' })],
    ['a transaction that has the name in a tag', transaction({ transaction: '/', tags: { from: '/404' } })],
    ['a transaction of a longer path', transaction({ transaction: '/404/more' })],
    ['an error that speaks of redirects', thrown('NEXT_REDIRECT was thrown')],
    [
      'an error with a redirect as its cause',
      event({ exception: { values: [{ value: 'x' }, { value: 'NEXT_REDIRECT' }] } }),
    ],
    [
      'an error whose breadcrumb is a redirect',
      event({ message: 'x', breadcrumbs: [{ message: 'NEXT_REDIRECT' }] }),
    ],
    [
      'a transaction of that value',
      transaction({ transaction: '/', exception: { values: [{ value: 'NEXT_REDIRECT' }] } }),
    ],
  ])('is not: %s', (_, part) => {
    expect(reasonOf(nextNoise, part)).toBeUndefined()
  })
})

describe('Browser extensions', () => {
  const browserExtensions = { browserExtensions: true }

  it.each([
    ['by the error’s words', thrown('Extension context invalidated.')],
    [
      'by the last place it came from',
      thrown('x', [frame('https://app.example/a.js'), frame('chrome-extension://abc/x.js')]),
    ],
    [
      'behind places that are none',
      thrown('x', [frame('moz-extension://abc/x.js'), frame('<anonymous>'), frame('[native code]')]),
    ],
    ['in any case', thrown('EXTENSION CONTEXT INVALIDATED')],
  ])('are seen %s', (_, part) => {
    expect(reasonOf(browserExtensions, part)).toBe('browser-extensions')
    expect(reasonOf({}, part)).toBeUndefined()
  })

  it.each([
    [
      'an error that passed through one',
      thrown('x', [frame('chrome-extension://abc/x.js'), frame('https://app.example/a.js')]),
    ],
    ['an error caused by one', event({ exception: { values: [{ value: 'x' }, { value: 'conduitPage' }] } })],
    [
      'a breadcrumb that names one',
      event({ message: 'x', breadcrumbs: [{ message: 'chrome-extension://abc/x.js' }] }),
    ],
    ['a transaction that names one', transaction({ transaction: 'conduitPage' })],
  ])('are not seen in %s', (_, part) => {
    expect(reasonOf(browserExtensions, part)).toBeUndefined()
  })

  it('are seen in the frames that the JavaScript SDK writes, which have a filename only', () => {
    const part = thrown('x', [
      { filename: 'https://app.example/a.js' },
      { filename: 'chrome-extension://abc/x.js' },
    ])
    expect(reasonOf({ browserExtensions: true }, part)).toBe('browser-extensions')
  })
})

describe('Web crawlers', () => {
  const GOOGLE = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

  it.each([event({ message: 'x' }), transaction({ transaction: '/' })])(
    'are known by the user agent',
    (part) => {
      expect(reasonOf({ webCrawlers: true }, part, GOOGLE)).toBe('web-crawlers')
      expect(reasonOf({}, part, GOOGLE)).toBeUndefined()
    },
  )

  it('are not whoever speaks of them', () => {
    expect(reasonOf({ webCrawlers: true }, event({ message: GOOGLE }), 'Mozilla/5.0')).toBeUndefined()
    expect(reasonOf({ webCrawlers: true }, event({ message: 'x' }))).toBeUndefined()
  })

  it('need no payload', () => {
    const { reads } = new Filters({ ...OFF, webCrawlers: true })
    expect(reads('event')).toBe(false)
  })
})

describe('Localhost', () => {
  const localhost = { localhost: true }

  it.each([
    event({ request: { url: 'http://localhost:3000/shop' } }),
    event({ request: { url: 'http://app.localhost/' } }),
    event({ request: { url: 'https://127.0.0.1/' } }),
    event({ request: { url: 'http://[::1]:8080/' } }),
    event({ request: { url: 'file:///home/index.html' } }),
    event({ user: { ip_address: '127.0.0.1' } }),
    event({ user: { ip_address: '::1' } }),
    transaction({ transaction: '/', request: { url: 'http://localhost/' } }),
  ])('is seen in $payload', (part) => {
    expect(reasonOf(localhost, part)).toBe('localhost')
    expect(reasonOf({}, part)).toBeUndefined()
  })

  it.each([
    event({ request: { url: 'https://app.example/localhost' } }),
    event({ request: { url: 'https://localhost.example/' } }),
    event({ request: { url: 'https://notlocalhost/' } }),
    event({ request: { url: 'localhost' } }),
    event({ message: 'cannot reach http://localhost:3000/' }),
    event({ user: { ip_address: '203.0.113.7' }, server_name: 'localhost' }),
  ])('is not seen in $payload', (part) => {
    expect(reasonOf(localhost, part)).toBeUndefined()
  })
})

describe('Health checks', () => {
  const healthChecks = { healthChecks: true }

  it('are transactions of such a name', () => {
    const part = transaction({ transaction: 'GET /api/healthz' })
    expect(reasonOf(healthChecks, part)).toBe('filtered-transaction')
    expect(reasonOf({}, part)).toBeUndefined()
  })

  it('are no errors, and no transactions that only mention them', () => {
    expect(reasonOf(healthChecks, event({ transaction: '/healthz', message: '/healthz' }))).toBeUndefined()
    expect(
      reasonOf(healthChecks, transaction({ transaction: '/shop', tags: { a: '/healthz' } })),
    ).toBeUndefined()
  })
})

describe('Error messages', () => {
  const errorMessages = { errorMessages: ['ChunkLoadError: Loading chunk *', '*ResizeObserver*', 'Lonely'] }

  it.each([
    ['by type and value', thrown('Loading chunk 12 failed.', [], 'ChunkLoadError')],
    ['by the message', event({ message: 'a ResizeObserver loop' })],
    ['by the log entry', event({ logentry: { formatted: 'a ResizeObserver loop', message: 'a %s loop' } })],
    ['by the log entry’s template', event({ logentry: { message: 'resizeobserver' } })],
    ['by a type without a value', event({ exception: { values: [{ type: 'Lonely' }] } })],
    ['by a value without a type', event({ exception: { values: [{ value: 'lonely' }] } })],
    [
      'by any exception of a chain',
      event({ exception: { values: [{ value: 'x' }, { value: 'ResizeObserver' }] } }),
    ],
  ])('are matched %s', (_, part) => {
    expect(reasonOf(errorMessages, part)).toBe('error-message')
    expect(reasonOf({}, part)).toBeUndefined()
  })

  it.each([
    ['a longer one', event({ message: 'A Lonely one' })],
    ['the words elsewhere', event({ message: 'x', extra: { note: 'ResizeObserver' } })],
    ['a transaction', transaction({ transaction: 'ResizeObserver', message: 'ResizeObserver' })],
  ])('do not match %s', (_, part) => {
    expect(reasonOf(errorMessages, part)).toBeUndefined()
  })

  it('never match an empty one', () => {
    expect(reasonOf({ errorMessages: ['*'] }, event({ message: '', level: 'error' }))).toBeUndefined()
  })
})

describe('Releases', () => {
  const releases = { releases: ['shop@1.*'] }

  it.each([event({ release: 'shop@1.2.3' }), transaction({ transaction: '/', release: 'SHOP@1.0' })])(
    'are matched whole',
    (part) => {
      expect(reasonOf(releases, part)).toBe('release-version')
      expect(reasonOf({}, part)).toBeUndefined()
    },
  )

  it.each([
    event({ release: 'shop@2.0', dist: 'shop@1.0' }),
    event({ message: 'release shop@1.0' }),
    event({ release: '' }),
    event({ release: 1 }),
  ])('that are others, or none, pass: $payload', (part) => {
    expect(reasonOf(releases, part)).toBeUndefined()
    expect(reasonOf({ releases: ['*'] }, event({ message: 'x' }))).toBeUndefined()
  })
})

describe('A dropped item', () => {
  it('takes its dependants with it, and leaves the rest', () => {
    const parts: Part[] = [
      thrown('NEXT_REDIRECT'),
      { header: { type: 'attachment' }, payload: 'x' },
      { header: { type: 'session' }, payload: '{}' },
      { header: { type: 'client_report' }, payload: '{}' },
    ]
    expect(sift({ nextNoise: true }, parts)).toEqual({
      dropped: ['event', 'attachment'],
      reason: 'next-noise' satisfies FilterReason,
    })
  })

  it('is never a session, a replay, a log or anything else that is neither an error nor a transaction', () => {
    for (const type of ITEM_TYPES)
      if (type !== 'event' && type !== 'transaction')
        expect(
          sift(ON, [{ header: { type }, payload: '{"release":"x","message":"x"}' }], 'Googlebot'),
        ).toBeUndefined()
  })
})

describe('A payload', () => {
  it('is not read at all when every filter is off', () => {
    const { reads } = new Filters(OFF)
    for (const type of [...ITEM_TYPES, 'invented']) expect(reads(type)).toBe(false)
  })

  it('is read of errors and transactions only when one is on', () => {
    const { reads } = new Filters({ ...OFF, nextNoise: true })
    expect([...ITEM_TYPES].filter(reads).sort()).toEqual(['event', 'transaction'])
  })

  it.each([
    '',
    '[]',
    'null',
    '"NEXT_REDIRECT"',
    '{"exception":',
    'NEXT_REDIRECT',
    '{"exception":{"values":null}}',
  ])('of %j is Sentry’s affair', (payload) => {
    expect(
      sift({ ...ON, errorMessages: ['x'], releases: ['x'], webCrawlers: false }, [
        { header: { type: 'event' }, payload },
      ]),
    ).toBeUndefined()
  })

  it('with more than 50,000 values is not parsed', () => {
    const noise = (values: number) => ({
      header: { type: 'event' },
      payload: `{"exception":{"values":[{"value":"NEXT_REDIRECT"}]},"x":[${'1,'.repeat(values)}1]}`,
    })
    expect(sift({ ...OFF, nextNoise: true }, [noise(40_000)])?.reason).toBe('next-noise')
    expect(sift({ ...OFF, nextNoise: true }, [noise(50_001)])).toBeUndefined()
  })

  it('is kept of the first error or transaction only, however many there are', () => {
    const { reads } = new Filters(ON)
    const { items } = readEnvelope(
      envelopeOf(
        {},
        Array.from({ length: 50 }, () => event({ message: 'x' })),
      ),
      reads,
    )
    expect(items.filter(({ payload }) => payload.length > 0)).toHaveLength(1)
  })

  it('in UTF-8 is matched as such', () => {
    expect(reasonOf({ errorMessages: ['*größe*'] }, event({ message: 'die Größe fehlt' }))).toBe(
      'error-message',
    )
  })

  it('that arrives in pieces is matched as one', () => {
    const filters = new Filters({ ...OFF, nextNoise: true })
    const whole = readEnvelope(envelopeOf({}, [thrown('NEXT_REDIRECT')]), filters.reads)
    const [item] = whole.items
    const [payload = Buffer.alloc(0)] = item?.payload ?? []
    for (let cut = 0; cut <= payload.length; cut++) {
      const items = whole.items.map((one) => ({
        ...one,
        payload: [payload.subarray(0, cut), payload.subarray(cut)],
      }))
      expect(filters.filter({ ...whole, items }, undefined)?.reason).toBe('next-noise')
    }
  })

  it.each([
    { exception: { values: {} } },
    { exception: { values: [null] } },
    { exception: { values: [{ value: 'conduit', stacktrace: { frames: [null] } }] } },
    { exception: { values: [{ value: 'conduit', stacktrace: { frames: {} } }] } },
    { exception: { values: 'conduitpage' } },
    { logentry: null, message: null, request: null, user: null },
  ])('of a strange shape harms nothing: %j', (payload) => {
    const strange = { note: 'conduitPage localhost ::1', release: 1, ...payload }
    const settings = { ...ON, webCrawlers: false, errorMessages: ['x'], releases: ['x'] }
    expect(reasonOf(settings, event(strange))).toBeUndefined()
  })
})
