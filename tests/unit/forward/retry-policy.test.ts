/** Kinds of answers, and delays before the next attempt. */

import { describe, expect, it } from 'vitest'
import {
  backoffMs,
  boundRetryAfter,
  consequencesOf,
  isRefusedForGood,
  ownBackoffMs,
  RETRY_POLICY,
} from '../../../tunnel/src/forward/retry-policy.ts'
import type { DeliveryResult } from '../../../tunnel/src/forward/upstream/request.ts'

const ABSENT = { contentType: undefined, retryAfter: undefined, rateLimits: undefined }
const answered = (status: number): DeliveryResult => ({
  kind: 'answered',
  reply: { status, body: Buffer.alloc(0), ...ABSENT },
})
const undecided = (reason: string, status?: number): DeliveryResult => ({ kind: 'undecided', reason, status })

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe('consequencesOf', () => {
  it.each<[keyof typeof RETRY_POLICY, DeliveryResult[]]>([
    ['delivered', [answered(200), answered(202)]],
    ['declined', [answered(400), answered(413)]],
    ['rate_limited', [answered(429)]],
    ['refused', [undecided('status-403', 403), undecided('UND_ERR_SOCKET', 404)]],
    ['passing', [407, 408, 421, 425].map((status) => undecided(`status-${status}`, status))],
    ['failed', [undecided('status-503', 503), undecided('status-302', 302), undecided('deadline')]],
    ['failed', [undecided('ECONNRESET'), undecided('UND_ERR_SOCKET'), undecided('reply-too-large', 200)]],
    ['unreachable', [undecided('ENOTFOUND'), undecided('ECONNREFUSED'), undecided('CERT_HAS_EXPIRED')]],
    ['unreachable', [undecided('ETIMEDOUT', 404), undecided('EPROTO', 403)]],
    ['untried', [undecided('breaker-open'), undecided('not-sent'), undecided('body-unreadable')]],
  ])('finds the row of an answer that is %s', (kind, results) => {
    for (const result of results) expect(consequencesOf(result)).toBe(RETRY_POLICY[kind])
  })
})

describe('The delay', () => {
  it('doubles with each attempt from 1 s to 10 s, of which jitter takes up to a half', () => {
    expect([0, 1, 2, 3, 4, 50].map((attempts) => backoffMs(attempts, 1))).toEqual([
      ...[1_000, 2_000, 4_000, 8_000, 10_000, 10_000],
    ])
    expect(backoffMs(0, 0)).toBe(500)
  })

  it('doubles with each failure of an entry alone from 2 s to 2 min', () => {
    expect([1, 2, 6, 7, 50].map((failures) => ownBackoffMs(failures, 1))).toEqual([
      ...[2_000, 4_000, 64_000, 120_000, 120_000],
    ])
  })

  it('follows Retry-After up to a minute', () => {
    expect([undefined, 20_000, HOUR].map(boundRetryAfter)).toEqual([0, 20_000, MINUTE])
  })
})

describe('isRefusedForGood', () => {
  it.each([
    [8, HOUR, true],
    [7, HOUR, false],
    [8, HOUR - 1, false],
  ])('of %i refusals within %i ms: %s', (count, ms, expected) => {
    expect(isRefusedForGood({ status: 403, first: 0, last: ms, count })).toBe(expected)
  })
})
