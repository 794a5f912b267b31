/** Circuit breaker of one upstream: opens when it fails or is slow, and lets single probes through. */

import { Failures, type RefusingResponse, type Sender, TRY_MS } from './failures.ts'

/**
 * Result of a request: a decision of the server in time, or a slow one; no decision yet when the sender stops waiting; a complete 4xx that is
 * not the server's; no connection, so that nothing of the envelope was sent; every other failure.
 */
export type RequestResult = 'prompt' | 'slow' | 'late' | 'refused' | 'unreachable' | 'failed'

/** Optional details of a failure. */
export type FailureDetails = {
  /** Response that refuses the envelope. */
  refusing?: RefusingResponse | undefined
  /** The request was counted as late before, so its end is not counted again. */
  after?: 'late' | undefined
}

export type BreakerState = { open: boolean; since: number; nextProbe: number }

const WINDOW_MS = 10_000
const MIN_RESULTS = 10 // fewer do not make a meaningful share
const FAILURES_IN_A_ROW = 5
/** Failing networks of a project, and failing projects, that stand for all. */
const MANY = 3

type Tally = { results: number; late: number }

/**
 * Opens when no connection can be made, when most responses are late, and when all requests of 10 s fail. Failures that are those of an
 * entry, a network or a project alone do not count.
 */
export class Breaker {
  /** Failures of the senders. */
  readonly failures: Failures
  readonly #clock: () => number
  #failuresInRow = 0
  #lastPass = Number.NEGATIVE_INFINITY
  /** Networks by project whose envelopes have failed since the last decision. */
  readonly #suspects = new Map<string, Set<string>>()
  #isUnreachable = false
  /** Results of this half of the window, and of the one before it. */
  #tally: Tally = { results: 0, late: 0 }
  #lastTally: Tally = { results: 0, late: 0 }
  #tallySince: number
  #isOpen = false
  #isDeciding = true
  #since: number
  #nextProbe = 0

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
    this.#since = clock()
    this.#tallySince = this.#since
    this.failures = new Failures(clock)
  }

  isOpen(): boolean {
    return this.#isOpen
  }

  /** Returns `true` while the upstream takes envelopes from the spool: also while the breaker is open because of slow responses. */
  isDeciding(): boolean {
    return this.#isDeciding
  }

  /**
   * Returns `true` when a live envelope of this sender must not be sent. An open breaker lets those of other networks and projects through
   * until many have failed: a single sender may have opened it.
   */
  holdsBack(sender: Sender): boolean {
    if (!this.#isOpen) return this.failures.holdsBack(sender)
    if (this.#isUnreachable) return true
    const networks = this.#suspects.get(sender.project)
    return networks ? networks.size >= MANY || networks.has(sender.network) : this.#suspects.size >= MANY
  }

  /** Returns `true` once in 5 s while it is open. */
  mayProbe(): boolean {
    if (!this.#isOpen || this.#clock() < this.#nextProbe) return false
    this.#nextProbe = this.#clock() + TRY_MS
    return true
  }

  note(result: RequestResult, sender: Sender, { refusing, after }: FailureDetails = {}): void {
    if (result === 'prompt' || result === 'slow') this.#decide(result, sender)
    else if (result === 'unreachable') this.#fail(result, sender, after)
    else {
      if (after === undefined) this.failures.add(sender)
      if (result !== 'late') this.failures.noteRefusal(sender, refusing)
      if (result === 'refused')
        this.#close() // a host that responds with a complete 4xx is not away
      else if (!this.failures.isOwn(sender)) this.#fail(result, sender, after)
    }
  }

  state(): BreakerState {
    return { open: this.#isOpen, since: this.#since, nextProbe: this.#nextProbe }
  }

  #decide(result: 'prompt' | 'slow', sender: Sender): void {
    this.failures.end(sender)
    this.#suspects.clear()
    this.#failuresInRow = 0
    this.#isDeciding = true
    if (result === 'slow') return // counted as late
    this.#close()
    this.#lastPass = this.#clock()
    this.#count(result)
  }

  #fail(
    result: 'late' | 'unreachable' | 'failed',
    { project, network }: Sender,
    after: 'late' | undefined,
  ): void {
    this.#isUnreachable = result === 'unreachable'
    const networks = this.#suspects.get(project) ?? new Set()
    if (networks.size < MANY) networks.add(network)
    if (this.#suspects.size < MANY) this.#suspects.set(project, networks)
    if (result !== 'late') this.#failuresInRow++
    if (this.#isOpen) {
      if (result !== 'late') this.#isDeciding = false
      return
    }
    if (after === undefined) this.#count(result)
    const hasPassed = this.#clock() - this.#lastPass < WINDOW_MS
    const isFailing = this.#failuresInRow >= FAILURES_IN_A_ROW && (this.#isUnreachable || !hasPassed)
    if (isFailing || this.#isSlow()) this.#open()
  }

  #open(): void {
    this.#change()
    this.#isOpen = true
    this.#isDeciding = false
    this.#nextProbe = this.#since + TRY_MS
  }

  #close(): void {
    if (!this.#isOpen) return
    this.#change()
    this.#isOpen = false
    this.#isDeciding = true
  }

  #change(): void {
    this.#since = this.#clock()
    this.#failuresInRow = 0
    this.#tally = { results: 0, late: 0 }
    this.#lastTally = { results: 0, late: 0 }
  }

  #count(result: RequestResult): void {
    const halfMs = WINDOW_MS / 2
    const passedMs = this.#clock() - this.#tallySince
    if (passedMs >= halfMs) {
      this.#lastTally = passedMs < WINDOW_MS ? this.#tally : { results: 0, late: 0 }
      this.#tally = { results: 0, late: 0 }
      this.#tallySince = this.#clock()
    }
    this.#tally.results++
    if (result === 'late') this.#tally.late++
  }

  /** Returns `true` when most results of the last 5 to 10 s were late. */
  #isSlow(): boolean {
    const results = this.#tally.results + this.#lastTally.results
    const late = this.#tally.late + this.#lastTally.late
    return results >= MIN_RESULTS && late * 2 > results
  }
}
