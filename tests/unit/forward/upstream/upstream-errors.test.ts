/** Classes of failed delivery attempts, and errors in a row. */

import { beforeEach, describe, expect, it } from 'vitest'
import type { DeliveryResult } from '../../../../tunnel/src/forward/upstream/request.ts'
import {
  receiptErrorOf,
  UpstreamErrors,
  upstreamErrorOf,
} from '../../../../tunnel/src/forward/upstream/upstream-errors.ts'

const failed = (reason: string, status?: number) => ({ kind: 'undecided', reason, status }) as const
const ANSWERED: DeliveryResult = {
  kind: 'answered',
  reply: {
    ...{ status: 200, body: Buffer.alloc(0) },
    ...{ contentType: undefined, retryAfter: undefined, rateLimits: undefined },
  },
}

const codes = (errorClass: string, ...all: string[]) => all.map((code) => [code, errorClass] as const)

describe('upstreamErrorOf', () => {
  it.each([
    ...codes('dns', 'ENOTFOUND', 'EAI_AGAIN'),
    ...codes('connect', 'ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'ENETUNREACH'),
    ...codes('tls', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_HAS_EXPIRED'),
    ...codes('tls', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER'),
    ...codes('proxy', 'UND_ERR_ABORTED'),
    ...codes('reset', 'ECONNRESET', 'UND_ERR_SOCKET'),
    ...codes('response', 'HPE_INVALID_CONSTANT', 'UND_ERR_HEADERS_OVERFLOW'),
    ...codes('other', 'EMFILE'),
  ])('returns the class of the code %s: %s', (code, errorClass) => {
    expect(upstreamErrorOf(failed(code))).toEqual({ class: errorClass, code })
  })

  it.each([
    [302, 'redirect'],
    [403, 'http-4xx'],
    [408, 'http-4xx'],
    [503, 'http-5xx'],
  ])('returns the class of the status %i: %s', (status, errorClass) => {
    expect(upstreamErrorOf(failed(`status-${status}`, status))).toEqual({ class: errorClass, status })
  })

  it('returns timeout at the deadline, response for a response that is too large, and other for all else', () => {
    expect(upstreamErrorOf(failed('deadline'))).toEqual({ class: 'timeout' })
    expect(upstreamErrorOf(failed('reply-too-large', 200))).toEqual({ class: 'response', status: 200 })
    expect(upstreamErrorOf(failed('unknown'))).toEqual({ class: 'other' })
  })

  it('never returns a code that could hold a part of a URL', () => {
    expect(upstreamErrorOf(failed('https://key@sentry.example/1'))).toEqual({ class: 'other' })
  })

  it.each(['breaker-open', 'body-unreadable', 'UND_ERR_DESTROYED'])(
    'returns undefined for %s, which is no error of the upstream',
    (reason) => {
      expect(upstreamErrorOf(failed(reason))).toBeUndefined()
    },
  )
})

describe('receiptErrorOf', () => {
  it('returns the class, or breaker-open', () => {
    expect(receiptErrorOf(failed('ENOTFOUND'))).toBe('dns')
    expect(receiptErrorOf(failed('breaker-open'))).toBe('breaker-open')
    expect(receiptErrorOf(failed('body-unreadable'))).toBeUndefined()
  })
})

describe('UpstreamErrors', () => {
  let time: number
  let errors: UpstreamErrors

  beforeEach(() => {
    time = 0
    errors = new UpstreamErrors(() => time)
  })

  function note(...results: DeliveryResult[]): void {
    for (const result of results) {
      time++
      errors.note(result)
    }
  }

  it('counts equal errors in a row, with the first and the last time', () => {
    note(failed('ENOTFOUND'), failed('ENOTFOUND'), failed('breaker-open'), failed('ENOTFOUND'))
    expect(errors.last).toEqual({ class: 'dns', code: 'ENOTFOUND', first: 1, last: 4, count: 3 })
  })

  it('starts a new count for another error, and after a response', () => {
    note(failed('status-503', 503), failed('status-502', 502))
    expect(errors.last).toEqual({ class: 'http-5xx', status: 502, first: 2, last: 2, count: 1 })
    note(ANSWERED)
    expect(errors.last).toMatchObject({ count: 1, last: 2 })
    note(failed('status-502', 502))
    expect(errors.last).toMatchObject({ count: 1, first: 4 })
  })

  it('starts a new count after a minute without an error: that may be another outage', () => {
    note(failed('ENOTFOUND'))
    time += 60_000
    note(failed('ENOTFOUND'))
    expect(errors.last).toMatchObject({ count: 1, first: 60_002 })
  })

  it('counts the errors of each class, from 0', () => {
    note(failed('status-503', 503), ANSWERED, failed('status-502', 502), failed('deadline'))
    const { 'http-5xx': status, timeout, dns } = Object.fromEntries(errors.counts)
    expect([status, timeout, dns]).toEqual([2, 1, 0])
  })
})
