/** Circuit breaker of one upstream: opens when it fails or is slow, and lets single probes through. */

import { BoundedMap } from '../../pipeline/bounded-map.ts'

/**
 * Result of a request: a response of the server in time; one that is late; a complete 4xx that is not the server's; no connection, so that
 * nothing of the envelope was sent; every other failure.
 */
export type RequestResult = 'prompt' | 'late' | 'refused' | 'unreachable' | 'failed'

/** Origin of an envelope: its project, the network of the client, and its spool entry. */
export type Sender = { project: string; network: string; entry?: string | undefined }

export type BreakerState = { open: boolean; since: number; nextProbe: number }

const WINDOW_SECONDS = 10
const MIN_RESULTS = 10 // fewer do not make a meaningful share
const FAILURES_IN_A_ROW = 5
const PROBE_MS = 5_000
const TRIAL_MS = 200
/** Failures in a row of one sender, after which they are its own if the upstream has accepted others meanwhile. */
const OWN_FAILURES = 3
/** Failing networks of a project, and failing projects, that stand for all. */
const MANY = 3
const MAX_STREAKS = 10_000
const STREAK_MS = 60 * 60_000

type Tally = { second: number; results: number; passes: number; late: number }

/** Failures in a row of an entry, a network or a project: their number, the turn of the first one, and the time of the last one. */
type Streak = { failures: number; since: number; at: number; nextProbe: number }

/**
 * Blames the smallest thing. A failure counts for the upstream unless its entry, its network or its project has failed repeatedly while the
 * upstream accepted others. The breaker opens when no connection can be made, when most responses are late, and when all requests of 10 s
 * fail.
 */
export class Breaker {
  readonly #clock: () => number
  readonly #streaks = new BoundedMap<string, Streak>(MAX_STREAKS)
  #turn = 0
  #lastPass = 0
  #tallies: Tally[] = []
  #failures = 0
  /** Networks by project whose envelopes have failed since the upstream last accepted one. */
  #suspects = new Map<string, Set<string>>()
  #lastFailure: RequestResult = 'failed'
  #isOpen = false
  #since: number
  #nextProbe = 0
  #nextTrial = 0

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
    this.#since = clock()
  }

  isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * Returns `true` when a live envelope of this sender must not be sent. An open breaker lets those of other networks and projects through
   * until many have failed: a single sender may have opened it. While the upstream fails promptly, it also lets five of any sender through in
   * a second, which hardly wait.
   */
  holdsBack(sender: Sender): boolean {
    if (!this.#isOpen) return this.#isBarred(sender)
    if (this.#lastFailure === 'unreachable') return true
    if (this.#lastFailure === 'failed' && this.#clock() >= this.#nextTrial) {
      this.#nextTrial = this.#clock() + TRIAL_MS
      return false
    }
    const networks = this.#suspects.get(sender.project)
    return networks ? networks.size >= MANY || networks.has(sender.network) : this.#suspects.size >= MANY
  }

  mayProbe(): boolean {
    return this.#isOpen && this.#clock() >= this.#nextProbe
  }

  /** Returns `true` when a probe has been due for 5 s. The deliverer has not sent one then, so a live envelope may. */
  isOverdue(): boolean {
    return this.#isOpen && this.#clock() >= this.#nextProbe + PROBE_MS
  }

  /** Records that a probe is sent. */
  spendProbe(): void {
    this.#nextProbe = this.#clock() + PROBE_MS
  }

  note(result: RequestResult, sender: Sender): void {
    if (result === 'prompt') this.#pass(sender)
    else if (result === 'refused') this.#respond()
    else if (result === 'unreachable' || !this.#isOwnFailure(sender)) this.#fail(result, sender)
  }

  /** Returns `true` when failures of this entry, its network or its project are their own: the upstream has accepted others meanwhile. */
  blames(sender: Sender): boolean {
    return namesOf(sender).some((name) => this.#isOwn(this.#streaks.get(name)))
  }

  state(): BreakerState {
    return { open: this.#isOpen, since: this.#since, nextProbe: this.#nextProbe }
  }

  #pass(sender: Sender): void {
    this.#lastPass = ++this.#turn
    if (this.#streaks.size > 0) for (const name of namesOf(sender)) this.#streaks.delete(name)
    this.#suspects.clear()
    this.#failures = 0
    if (this.#isOpen) this.#change('closed')
    this.#count('prompt')
  }

  /** A host that responds with a complete 4xx is not away. */
  #respond(): void {
    if (this.#isOpen) this.#change('closed')
  }

  #fail(result: 'late' | 'unreachable' | 'failed', { project, network }: Sender): void {
    this.#lastFailure = result
    this.#failures = result === 'late' ? 0 : this.#failures + 1
    const networks = this.#suspects.get(project) ?? new Set()
    if (networks.size < MANY) networks.add(network)
    if (this.#suspects.size < MANY) this.#suspects.set(project, networks)
    if (this.#isOpen) return
    this.#count(result)
    const { results, passes, late } = this.#sum()
    const isFailing = this.#failures >= FAILURES_IN_A_ROW && (result === 'unreachable' || passes === 0)
    if (isFailing || (results >= MIN_RESULTS && late * 2 > results)) this.#change('open')
  }

  /** Counts a failure for its entry, its network and its project. Returns `true` when it is the failure of one of them. */
  #isOwnFailure(sender: Sender): boolean {
    let isOwn = false
    for (const name of namesOf(sender)) {
      const now = this.#clock()
      const last = this.#streaks.get(name)
      const isNew = last === undefined || now - last.at > STREAK_MS
      const streak = isNew ? { failures: 0, since: ++this.#turn, nextProbe: 0 } : last
      const counted = { ...streak, failures: streak.failures + 1, at: now }
      this.#streaks.set(name, counted)
      isOwn ||= this.#isOwn(counted)
    }
    return isOwn
  }

  #isOwn(streak: Streak | undefined): boolean {
    return streak !== undefined && streak.failures >= OWN_FAILURES && streak.since < this.#lastPass
  }

  /** Lets one envelope in 5 s of a network through whose envelopes fail alone: each may hold a connection for long. */
  #isBarred(sender: Sender): boolean {
    if (sender.network === '') return false // unknown, or a private one that all visitors may share
    const name = networkName(sender)
    const streak = this.#streaks.get(name)
    if (!streak || !this.#isOwn(streak) || streak.failures < FAILURES_IN_A_ROW) return false
    const now = this.#clock()
    if (now < streak.nextProbe) return true
    this.#streaks.set(name, { ...streak, nextProbe: now + PROBE_MS })
    return false
  }

  #change(to: 'open' | 'closed'): void {
    this.#isOpen = to === 'open'
    this.#since = this.#clock()
    this.#nextProbe = this.#since + PROBE_MS
    this.#nextTrial = this.#since + TRIAL_MS
    this.#tallies = []
    this.#failures = 0
  }

  #count(result: RequestResult): void {
    const second = Math.floor(this.#clock() / 1000)
    let last = this.#tallies.at(-1)
    if (last?.second !== second) {
      last = { second, results: 0, passes: 0, late: 0 }
      this.#tallies.push(last)
      this.#tallies = this.#tallies.filter((old) => old.second > second - WINDOW_SECONDS)
    }
    last.results++
    last.passes += Number(result === 'prompt')
    last.late += Number(result === 'late')
  }

  /** Sums up the results of the last 10 s. */
  #sum(): Omit<Tally, 'second'> {
    const sum = { results: 0, passes: 0, late: 0 }
    const oldest = Math.floor(this.#clock() / 1000) - WINDOW_SECONDS
    for (const { second, results, passes, late } of this.#tallies) {
      if (second <= oldest) continue
      sum.results += results
      sum.passes += passes
      sum.late += late
    }
    return sum
  }
}

/** Names of the streaks of a sender. */
function namesOf(sender: Sender): string[] {
  const { project, entry } = sender
  return [project, networkName(sender), ...(entry === undefined ? [] : [entry])]
}

function networkName({ project, network }: Sender): string {
  return `${project} ${network}`
}
