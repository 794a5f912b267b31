/** Results that a request to Sentry reports to the circuit breaker. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RequestResult } from '../../../../tunnel/src/forward/upstream/breaker.ts'
import { UpstreamRequest } from '../../../../tunnel/src/forward/upstream/request.ts'

const LIMITS = { bytes: 2 * 1024 * 1024, lateMs: 1_000, maxMs: 60_000, transferMs: 5_000 }

describe('The response to a large body', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each<[string, number, RequestResult[]]>([
    ['is prompt within the late limit', 900, ['prompt']],
    ['is prompt within the late limit and the time to send the body', 5_900, ['prompt']],
    ['says nothing after that', 6_100, []],
  ])('%s', async (_, afterMs, expected) => {
    const noted: RequestResult[] = []
    const listeners = { note: (result: RequestResult) => void noted.push(result), learn: () => {} }
    const request = new UpstreamRequest(LIMITS, listeners, () => {})
    const controller = { aborted: false, paused: false, reason: null, rawHeaders: null, rawTrailers: null }
    const methods = { abort() {}, pause() {}, resume() {} }
    request.onRequestStart({ ...controller, ...methods })
    vi.advanceTimersByTime(afterMs)
    request.onResponseStart({ ...controller, ...methods }, 200, {})
    request.onResponseEnd()
    expect(await request.final).toMatchObject({ kind: 'answered' })
    expect(noted).toEqual(expected)
  })
})
