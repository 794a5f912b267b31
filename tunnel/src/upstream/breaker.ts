/** Whether an upstream is worth asking: opens when it fails or is slow, and is tried now and then. */

export type RequestResult = 'prompt' | 'late' | 'failed'

export type Breaker = {
  isOpen(): boolean
  /** While open: whether it is time to ask once, to see. */
  mayProbe(): boolean
  /** It was time to ask a good while ago, and nobody has: nothing waits, or what waits is held. */
  isOverdue(): boolean
  /** It is asked: the next time is later. */
  spendProbe(): void
  /** What came of asking. */
  note(verdict: RequestResult): void
  state(): BreakerState
}

export type BreakerState = { open: boolean; since: number; nextProbe: number }

const WINDOW_MS = 10_000
const MIN_ANSWERS = 10 // fewer say nothing about a share
const FAILURES_IN_A_ROW = 5
const PROBE_MS = 5_000

type Tally = { second: number; answers: number; bad: number }

/** `clock` in milliseconds, monotonic. */
export function createBreaker(clock: () => number): Breaker {
  let tallies: Tally[] = []
  let failures = 0
  let open = false
  let since = clock()
  let nextProbe = 0
  return {
    isOpen: () => open,
    mayProbe,
    isOverdue,
    spendProbe,
    note,
    state: () => ({ open, since, nextProbe }),
  }

  function mayProbe(): boolean {
    return open && clock() >= nextProbe
  }

  function isOverdue(): boolean {
    return open && clock() >= nextProbe + PROBE_MS
  }

  function spendProbe(): void {
    nextProbe = clock() + PROBE_MS
  }

  function note(verdict: RequestResult): void {
    failures = verdict === 'failed' ? failures + 1 : 0
    if (open) {
      if (verdict === 'prompt') turn(false)
      return
    }
    tally(verdict)
    if (failures >= FAILURES_IN_A_ROW || mostAreBad()) turn(true)
  }

  function turn(toOpen: boolean): void {
    open = toOpen
    since = clock()
    nextProbe = since + PROBE_MS
    tallies = []
    failures = 0
  }

  function tally(verdict: RequestResult): void {
    const second = Math.floor(clock() / 1000)
    let last = tallies.at(-1)
    if (last?.second !== second) {
      last = { second, answers: 0, bad: 0 }
      tallies.push(last)
      tallies = tallies.filter((old) => old.second > second - WINDOW_MS / 1000)
    }
    last.answers++
    if (verdict !== 'prompt') last.bad++
  }

  function mostAreBad(): boolean {
    let [answers, bad] = [0, 0]
    for (const tally of tallies) {
      answers += tally.answers
      bad += tally.bad
    }
    return answers >= MIN_ANSWERS && bad * 2 > answers
  }
}
