/** Deliveries that one upstream may get from the spool: by rate, concurrency, circuit breaker and free connections. */

import type { Upstreams } from '../upstream/client.ts'
import { type DeliveryResult, NOT_SENT, UNREADABLE } from '../upstream/request.ts'
import { Concurrency } from './concurrency.ts'
import { RateController } from './rate-controller.ts'

const NOT_OF_UPSTREAM = [NOT_SENT, UNREADABLE]

export class UpstreamCapacity {
  readonly #origin: string
  readonly #upstreams: Upstreams
  readonly #rate: RateController
  readonly #concurrency = new Concurrency()
  #wasOpen = false

  /** `clock` is monotonic, in milliseconds. */
  constructor(origin: string, upstreams: Upstreams, clock: () => number) {
    this.#origin = origin
    this.#upstreams = upstreams
    this.#rate = new RateController(clock)
  }

  /** Returns how many deliveries may begin now. While the breaker is open, single probes, and more once the upstream responds to them. */
  allowance(): number {
    const isOpen = this.#upstreams.isOpen(this.#origin)
    if (isOpen && !this.#wasOpen) this.#concurrency.restart()
    this.#wasOpen = isOpen
    if (isOpen && !this.#concurrency.isResponding()) return Number(this.#upstreams.mayProbe(this.#origin))
    return Math.min(
      this.#rate.allowance(),
      this.#concurrency.allowance(),
      this.#upstreams.spareConnections(this.#origin, this.#concurrency.active()),
    )
  }

  /** Notes that deliveries begin. */
  begin(deliveries: number): void {
    this.#rate.spend(deliveries)
    this.#concurrency.begin(deliveries)
    if (deliveries > 0 && this.#upstreams.isOpen(this.#origin)) this.#upstreams.spendProbe(this.#origin)
  }

  /** Notes that a delivery has ended. */
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
