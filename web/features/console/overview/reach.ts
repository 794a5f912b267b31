/** Share of visitors whose browsers do not reach Sentry, from a sample of page loads. */

export type Reach = {
  /** Conclusive tests. */
  tests: number
  /** Tests that the policy of the page or a slow network stopped, or that came while Sentry did not respond to the tunnel. */
  inconclusive: number
  /** Share of the tests that were blocked, and its 95 % confidence interval (Wilson score); absent without conclusive tests. */
  blocked?: { share: number; from: number; to: number }
  /** Errors from browsers that would have been lost at this share. */
  lostErrors: number
}

const Z = 1.96
const MAX_WIDTH = 0.1

/** Estimates the reach. `errors` is the number of errors from browsers that arrived in the same time. */
export function estimateReach(results: Readonly<Record<string, number>>, errors: number): Reach {
  const { reachable = 0, blocked = 0, inconclusive = 0 } = results
  const tests = reachable + blocked
  if (tests === 0) return { tests, inconclusive, lostErrors: 0 }
  const share = blocked / tests
  const lostErrors = Math.round(errors * share)
  return { tests, inconclusive, blocked: { share, ...intervalOf(share, tests) }, lostErrors }
}

/** Reports whether the sample is so small that the share may be off by more than five points. */
export function isUncertain({ blocked }: Reach): boolean {
  return blocked !== undefined && blocked.to - blocked.from > MAX_WIDTH
}

function intervalOf(share: number, tests: number): { from: number; to: number } {
  const divisor = 1 + Z ** 2 / tests
  const middle = (share + Z ** 2 / (2 * tests)) / divisor
  const margin = (Z / divisor) * Math.sqrt((share * (1 - share)) / tests + Z ** 2 / (4 * tests ** 2))
  return { from: Math.max(0, middle - margin), to: Math.min(1, middle + margin) }
}
