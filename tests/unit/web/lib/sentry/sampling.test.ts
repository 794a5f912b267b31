/** Sampling of requests that are traced. */

import { describe, expect, it } from 'vitest'
import { createSampler } from '../../../../../web/lib/sentry/sampling.ts'

describe('The sampling decision', () => {
  it("is the caller's up to 20 traces a second, and the configured rate above that", () => {
    let now = 0
    const shareOf = createSampler(0.1, 'errors', () => now)
    expect(shareOf({})).toBe(0.1)
    expect(shareOf({ parentSampled: false })).toBe(0)
    expect(shareOf({ attributes: { 'next.span_type': 'BaseServer.handleRequest' } })).toBe(0.1)
    expect(shareOf({ attributes: { 'next.span_type': 'LoadComponents.loadRouteModule' } })).toBe(0)
    const shares = () => Array.from({ length: 30 }, () => shareOf({ parentSampled: true }))
    const burst = [...Array(20).fill(1), ...Array(10).fill(0.1)]
    expect(shares()).toEqual(burst)
    now += 60_000
    expect(shares()).toEqual(burst)
  })
})
