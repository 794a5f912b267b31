/** How many late envelopes a second one upstream gets: few at first, and more while it answers well. */

export type RateController = {
  /** How many may begin now. */
  allowance(): number
  spend(many: number): void
  /** It answered well. */
  increase(): void
  /** It failed, or asked to hold back. */
  decrease(): void
  perSecond(): number
}

const FIRST = 20
const MOST = 10_000
const DOUBLING_MS = 1_000
const SAVED_MS = 250 // what was not used is not saved up for longer

/** From 20 a second, doubling each second of good answers, halving on each bad one: a Sentry that just came back stays up. */
export function createRateController(clock: () => number): RateController {
  let rate = FIRST
  let saved = 0
  let refilled = clock()
  let doubled = clock()
  return { allowance, spend, increase, decrease, perSecond: () => rate }

  function allowance(): number {
    const time = clock()
    saved = Math.min(Math.max(1, (rate * SAVED_MS) / 1000), saved + (rate * (time - refilled)) / 1000)
    refilled = time
    return Math.floor(saved)
  }

  function spend(many: number): void {
    saved -= many
  }

  function increase(): void {
    if (clock() - doubled < DOUBLING_MS) return
    rate = Math.min(MOST, rate * 2)
    doubled = clock()
  }

  function decrease(): void {
    rate = Math.max(FIRST, rate / 2)
    doubled = clock()
  }
}
