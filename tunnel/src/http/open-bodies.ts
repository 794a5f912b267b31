/** Limit on bodies that arrive at the same time from one client address: slow senders must not take all connections. */

import { type CountedNetwork, networkOf, networksAround } from 'contract/networks'
import type { Body } from '../envelope/body/bodies.ts'
import type { Context, Outcome } from '../pipeline/pipeline.ts'
import { addressLimited } from '../policy/throttle.ts'

/** Above the requests that two nginx forward from one address. */
export const MAX_OPEN_BODIES = 110

/** Counts the bodies that are being received, by client network. */
export class OpenBodies {
  readonly #counts = new Map<string, number>()

  /** Sets the body of `ctx`, or returns the outcome when its client address sends too many at the same time. Private addresses have no limit. */
  async receive(ctx: Context, receive: () => Promise<Body>): Promise<Outcome | undefined> {
    const networks = networksAround(networkOf(ctx.client.address))
    const full = networks.find(({ name, factor }) => this.#countOf(name) >= MAX_OPEN_BODIES * factor)
    if (full)
      return addressLimited(
        ctx,
        `${this.#countOf(full.name)} bodies of its network are arriving at the same time.`,
      )
    this.#change(networks, 1)
    try {
      ctx.body = await receive()
      return undefined
    } finally {
      this.#change(networks, -1)
    }
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  #change(networks: readonly CountedNetwork[], by: 1 | -1): void {
    for (const { name } of networks) {
      const count = this.#countOf(name) + by
      if (count > 0) this.#counts.set(name, count)
      else this.#counts.delete(name)
    }
  }
}
