/** Deliveries that one upstream may get from the spool: by rate, concurrency, circuit breaker and free connections. */

import { type DeliveryResult, NOT_SENT, UNREADABLE } from '../upstream/request.ts'
import type { Upstreams } from '../upstream/upstream-client.ts'

/** Part of the upstreams that delivery from a spool uses. */
export type DeliveryUpstreams = Pick<
  Upstreams,
  'send' | 'attemptMs' | 'isOpen' | 'mayProbe' | 'spendProbe' | 'spareConnections' | 'health' | 'blames'
>

const NOT_OF_UPSTREAM = [NOT_SENT, UNREADABLE]

export class UpstreamCapacity {
  readonly #origin: string
  readonly #upstreams: DeliveryUpstreams
  readonly #rate: RateController
  readonly #concurrency = new Concurrency()
  #wasOpen = false

  /** `clock` is monotonic, in milliseconds. */
  constructor(origin: string, upstreams: DeliveryUpstreams, clock: () => number, maxRate?: number) {
    this.#origin = origin
    this.#upstreams = upstreams
    this.#rate = new RateController(clock, maxRate)
  }

  /** Returns how many deliveries may begin now. While the breaker is open, single probes, and more once the upstream responds to them. */
  allowance(): number {
    const isOpen = this.#upstreams.isOpen(this.#origin)
    if (isOpen && !this.#wasOpen) this.#concurrency.restart()
    this.#wasOpen = isOpen
    if (this.isProbing()) return Number(this.#upstreams.mayProbe(this.#origin))
    return Math.min(
      this.#rate.allowance(),
      this.#concurrency.allowance(),
      this.#upstreams.spareConnections(this.#origin, this.#concurrency.active()),
    )
  }

  /** Returns how many deliveries a second the upstream takes, as far as it is known; 0 while the breaker is open. */
  perSecond(): number {
    return this.#upstreams.isOpen(this.#origin) ? 0 : this.#rate.perSecond()
  }

  /** Returns `true` while the breaker is open, and the last delivery had no good response. */
  isProbing(): boolean {
    return this.#upstreams.isOpen(this.#origin) && !this.#concurrency.isResponding()
  }

  begin(deliveries: number): void {
    this.#rate.spend(deliveries)
    this.#concurrency.begin(deliveries)
    if (deliveries > 0 && this.#upstreams.isOpen(this.#origin)) this.#upstreams.spendProbe(this.#origin)
  }

  end(): void {
    this.#concurrency.end()
  }

  /** Learns from the result of a delivery, or of an attempt for a sender that did not wait for it. */
  learn(delivery: DeliveryResult): void {
    if (delivery.kind === 'undecided' && NOT_OF_UPSTREAM.includes(delivery.reason)) return
    const isGood = delivery.kind === 'answered' && delivery.reply.status !== 429
    for (const controller of [this.#rate, this.#concurrency])
      if (isGood) controller.increase()
      else controller.decrease()
  }
}

const INITIAL_RATE = 20 // attempts per second
const MAX_RATE = 10_000
const DOUBLING_MS = 1_000
const MAX_SAVED_MS = 250 // unused allowance expires after this

/** Starts at 20 attempts a second, doubles with each second of good responses, halves with each bad one. */
export class RateController {
  readonly #clock: () => number
  readonly #minRate: number
  readonly #maxRate: number
  #rate: number
  #saved = 0
  #refilledAt: number
  #doubledAt: number

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number, maxRate = MAX_RATE) {
    this.#clock = clock
    this.#maxRate = maxRate
    this.#minRate = Math.min(INITIAL_RATE, maxRate)
    this.#rate = this.#minRate
    this.#refilledAt = clock()
    this.#doubledAt = this.#refilledAt
  }

  /** Returns how many attempts may begin now. */
  allowance(): number {
    const time = this.#clock()
    const refill = (this.#rate * (time - this.#refilledAt)) / 1000
    this.#saved = Math.min(Math.max(1, (this.#rate * MAX_SAVED_MS) / 1000), this.#saved + refill)
    this.#refilledAt = time
    return Math.floor(this.#saved)
  }

  spend(attempts: number): void {
    this.#saved -= attempts
  }

  /** Notes a good response. */
  increase(): void {
    const time = this.#clock()
    if (time - this.#doubledAt < DOUBLING_MS) return
    this.#rate = Math.min(this.#maxRate, this.#rate * 2)
    this.#doubledAt = time
  }

  /** Notes a failure, or a response that asks for fewer requests. */
  decrease(): void {
    this.#rate = Math.max(this.#minRate, this.#rate / 2)
    this.#doubledAt = this.#clock()
  }

  perSecond(): number {
    return this.#rate
  }
}

const MAX_LIMIT = 64 // concurrent deliveries

/**
 * Doubles with each round of responses, halves with a failure and then grows by one a round, as TCP does. A slow upstream thus gets as
 * many deliveries as it can respond to, and one that hangs gets single ones.
 */
export class Concurrency {
  #limit = 1
  #threshold = MAX_LIMIT
  #active = 0
  #isResponding = false

  /** Begins again with a single delivery. */
  restart(): void {
    this.#limit = 1
    this.#threshold = MAX_LIMIT
    this.#isResponding = false
  }

  /** Returns `true` when the last delivery had a good response. */
  isResponding(): boolean {
    return this.#isResponding
  }

  /** Returns the number of deliveries under way. */
  active(): number {
    return this.#active
  }

  /** Returns how many deliveries may begin now. */
  allowance(): number {
    return Math.max(0, Math.floor(this.#limit) - this.#active)
  }

  begin(deliveries: number): void {
    this.#active += deliveries
  }

  end(): void {
    this.#active--
  }

  increase(): void {
    this.#isResponding = true
    const step = this.#limit < this.#threshold ? 1 : 1 / this.#limit
    this.#limit = Math.min(MAX_LIMIT, this.#limit + step)
  }

  decrease(): void {
    this.#isResponding = false
    this.#threshold = Math.max(1, this.#limit / 2)
    this.#limit = this.#threshold
  }
}
