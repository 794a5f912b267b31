/** Estimate of the visitors who block Sentry. */

import { describe, expect, it } from 'vitest'
import { estimateReach, isUncertain } from '../../../../../web/features/console/overview/results.ts'

describe('estimateReach', () => {
  it('returns the share of blocked tests, and the errors that would have been lost', () => {
    const reach = estimateReach({ reachable: 690, blocked: 310, inconclusive: 25 }, 13_587)
    expect(reach).toMatchObject({ tests: 1_000, inconclusive: 25, lostErrors: 4_212 })
    expect(reach.blocked?.share).toBeCloseTo(0.31)
    expect(reach.blocked?.from).toBeCloseTo(0.282, 3)
    expect(reach.blocked?.to).toBeCloseTo(0.339, 3)
  })

  it('returns no share without conclusive tests', () => {
    expect(estimateReach({ inconclusive: 3 }, 100)).toEqual({ tests: 0, inconclusive: 3, lostErrors: 0 })
  })

  it.each([
    [20, true],
    [400, false],
  ])('with %i tests of which half were blocked, is uncertain: %s', (tests, expected) => {
    expect(isUncertain(estimateReach({ reachable: tests / 2, blocked: tests / 2 }, 0))).toBe(expected)
  })

  it('keeps the interval between 0 and 1', () => {
    const { blocked } = estimateReach({ reachable: 5 }, 10)
    expect(blocked).toMatchObject({ share: 0, from: 0 })
    expect(blocked?.to).toBeGreaterThan(0.3)
  })
})
