/** Circuit breaker of one upstream: opens when it fails or is slow, and lets single probes through. */

export type RequestResult = 'prompt' | 'late' | 'failed'

export type BreakerState = { open: boolean; since: number; nextProbe: number }

const WINDOW_SECONDS = 10
const MIN_RESULTS = 10 // fewer do not make a meaningful share
const FAILURES_IN_A_ROW = 5
const PROBE_MS = 5_000

type Tally = { second: number; results: number; bad: number }

export class Breaker {
  readonly #clock: () => number
  #tallies: Tally[] = []
  #failures = 0
  #isOpen = false
  #since: number
  #nextProbe = 0

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
    this.#since = clock()
  }

  isOpen(): boolean {
    return this.#isOpen
  }

  mayProbe(): boolean {
    return this.#isOpen && this.#clock() >= this.#nextProbe
  }

  /** `true` when a probe has been due for 5 s. The deliverer has not sent one then, so a live envelope may. */
  isOverdue(): boolean {
    return this.#isOpen && this.#clock() >= this.#nextProbe + PROBE_MS
  }

  /** Records that a probe is sent. */
  spendProbe(): void {
    this.#nextProbe = this.#clock() + PROBE_MS
  }

  note(result: RequestResult): void {
    this.#failures = result === 'failed' ? this.#failures + 1 : 0
    if (this.#isOpen) {
      if (result === 'prompt') this.#turn('closed')
      return
    }
    this.#count(result)
    if (this.#failures >= FAILURES_IN_A_ROW || this.#mostAreBad()) this.#turn('open')
  }

  state(): BreakerState {
    return { open: this.#isOpen, since: this.#since, nextProbe: this.#nextProbe }
  }

  #turn(to: 'open' | 'closed'): void {
    this.#isOpen = to === 'open'
    this.#since = this.#clock()
    this.#nextProbe = this.#since + PROBE_MS
    this.#tallies = []
    this.#failures = 0
  }

  #count(result: RequestResult): void {
    const second = Math.floor(this.#clock() / 1000)
    let last = this.#tallies.at(-1)
    if (last?.second !== second) {
      last = { second, results: 0, bad: 0 }
      this.#tallies.push(last)
      this.#tallies = this.#tallies.filter((old) => old.second > second - WINDOW_SECONDS)
    }
    last.results++
    if (result !== 'prompt') last.bad++
  }

  #mostAreBad(): boolean {
    let [results, bad] = [0, 0]
    for (const tally of this.#tallies) {
      results += tally.results
      bad += tally.bad
    }
    return results >= MIN_RESULTS && bad * 2 > results
  }
}
