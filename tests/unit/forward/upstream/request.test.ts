/** Results that a request to Sentry reports to the circuit breaker. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { UpstreamRequest } from '../../../../tunnel/src/forward/upstream/request.ts'

const LIMITS = { bytes: 2 * 1024 * 1024, lateMs: 1_000, maxMs: 60_000, transferMs: 5_000 }

describe('The response to a large body', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each<[string, number, string]>([
    ['is prompt within the late limit', 900, 'prompt'],
    ['is prompt within the late limit and the time to send the body', 5_900, 'prompt'],
    ['is slow after that', 6_100, 'slow'],
  ])('%s', async (_, afterMs, expected) => {
    const noted: string[] = []
    const listener = {
      onLate: () => void noted.push('late'),
      onEnd: (_: unknown, timing: string) => void noted.push(timing),
    }
    const request = new UpstreamRequest(LIMITS, listener)
    const controller = { aborted: false, paused: false, reason: null, rawHeaders: null, rawTrailers: null }
    const methods = { abort() {}, pause() {}, resume() {} }
    request.onRequestStart({ ...controller, ...methods })
    vi.advanceTimersByTime(afterMs)
    request.onResponseStart({ ...controller, ...methods }, 200, {})
    request.onResponseEnd()
    expect(await request.final).toMatchObject({ kind: 'answered' })
    expect(noted).toEqual([expected])
  })
})
