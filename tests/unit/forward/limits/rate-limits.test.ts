/** Parser of Sentry's rate limit headers, by the rules of the SDKs. */

import { describe, expect, it } from 'vitest'
import { formatRateLimits } from '../../../../contract/rate-limits.ts'
import { type RateLimitHeaders, readRateLimits } from '../../../../tunnel/src/forward/limits/rate-limits.ts'

const NOW = Date.parse('2026-06-01T12:00:00Z')
const DAY = 86_400

const read = (asked: Partial<RateLimitHeaders>) =>
  readRateLimits({ status: 200, rateLimits: undefined, retryAfter: undefined, ...asked }, NOW)

describe('X-Sentry-Rate-Limits', () => {
  it.each<[string, string, ReturnType<typeof read>]>([
    ['names a category', '60:error:key', [{ seconds: 60, categories: ['error'] }]],
    [
      'names several categories',
      '60:error;transaction:organization',
      [{ seconds: 60, categories: ['error', 'transaction'] }],
    ],
    [
      'lists several limits',
      '60:error:key, 2700:session:organization',
      [
        { seconds: 60, categories: ['error'] },
        { seconds: 2700, categories: ['session'] },
      ],
    ],
    ['names no category, which means all', '60::organization', [{ seconds: 60, categories: [] }]],
    ['contains only seconds, which means all categories', '60', [{ seconds: 60, categories: [] }]],
    [
      'has a reason and more fields',
      '60:error:key:quota::more:fields',
      [{ seconds: 60, categories: ['error'] }],
    ],
    ['has an unknown scope', '60:error:galaxy', [{ seconds: 60, categories: ['error'] }]],
    ['contains spaces', ' 60 : error ; session : key ', [{ seconds: 60, categories: ['error', 'session'] }]],
    ['names some unknown categories', '60:error;shoes:key', [{ seconds: 60, categories: ['error'] }]],
    ['names unknown categories only', '60:shoes;socks:key', []],
    ['names members of Object.prototype', '60:constructor;__proto__:key', []],
    ['has a fraction of a second', '0.1:error:key', [{ seconds: 1, categories: ['error'] }]],
    ['has seconds and a fraction', '2.5:error:key', [{ seconds: 3, categories: ['error'] }]],
    ['has 0 seconds', '0:error:key', [{ seconds: 0, categories: ['error'] }]],
    ['has negative seconds, as 0', '-5:error:key', [{ seconds: 0, categories: ['error'] }]],
    ['has no number, as 60 s', 'soon:error:key', [{ seconds: 60, categories: ['error'] }]],
    ['has Infinity, as 60 s', 'Infinity:error:key', [{ seconds: 60, categories: ['error'] }]],
    ['lasts for years, as one day', '999999999:error:key', [{ seconds: DAY, categories: ['error'] }]],
    ['has empty entries', ', ,60:error:key,,', [{ seconds: 60, categories: ['error'] }]],
    ['is empty', '', []],
    ['limits metrics', '60:metric_bucket:key', [{ seconds: 60, categories: ['metric_bucket'] }]],
    [
      'limits metrics of the namespace custom',
      '60:metric_bucket:key:quota:spans;custom',
      [{ seconds: 60, categories: ['metric_bucket'] }],
    ],
    ['limits metrics of other namespaces', '60:metric_bucket:key:quota:spans', []],
    [
      'limits errors beside metrics of other namespaces',
      '60:metric_bucket;error:key:quota:spans',
      [{ seconds: 60, categories: ['error'] }],
    ],
  ])('is parsed when it %s', (_, rateLimits, expected) => {
    expect(read({ rateLimits })).toEqual(expected)
    expect(read({ status: 429, rateLimits })).toEqual(expected)
  })

  it('takes precedence over Retry-After', () => {
    const both = { status: 429, rateLimits: '60:error:key', retryAfter: '900' }
    expect(read(both)).toEqual([{ seconds: 60, categories: ['error'] }])
    expect(read({ ...both, rateLimits: '60:shoes:key' })).toEqual([])
  })
})

describe('Retry-After', () => {
  it.each([
    ['seconds', '120', 120],
    ['a fraction of a second', '0.5', 1],
    ['a date', 'Mon, 01 Jun 2026 12:00:30 GMT', 30],
    ['a date in the past', 'Mon, 01 Jun 2026 11:00:00 GMT', 0],
    ['an invalid value, as 60 s', 'later', 60],
    ['a year, as one day', '31536000', DAY],
  ])('of a 429 applies to everything, given as %s', (_, retryAfter, seconds) => {
    expect(read({ status: 429, retryAfter })).toEqual([{ seconds, categories: [] }])
  })

  it.each([200, 202, 400, 413])('is ignored with status %i', (status) => {
    expect(read({ status, retryAfter: '120' })).toEqual([])
  })
})

describe('A response without both headers', () => {
  it('limits everything for 60 s when its status is 429', () => {
    expect(read({ status: 429 })).toEqual([{ seconds: 60, categories: [] }])
  })

  it('limits nothing when its status is 200', () => {
    expect(read({ status: 200 })).toEqual([])
  })
})

describe('formatRateLimits', () => {
  it("writes Relay's format with the scope key, which is parsed to the same limits", () => {
    const limits = [
      { seconds: 60, categories: ['error', 'attachment'] },
      { seconds: 10, categories: ['replay'] },
    ]
    const header = formatRateLimits(limits, 'tunnel')
    expect(header).toBe('60:error;attachment:key:tunnel, 10:replay:key:tunnel')
    expect(read({ rateLimits: header })).toEqual(limits)
  })
})
