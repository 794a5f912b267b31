/** Limit on bodies that arrive at the same time from one client address: slow senders must not take all connections. */

import type { Body } from '../body/receive.ts'
import { networkOf } from '../networks.ts'
import type { Context, Outcome } from '../pipeline.ts'
import { addressLimited } from '../policy/throttle.ts'

/** Above the requests that two nginx forward from one address. */
export const MAX_OPEN_BODIES = 110

/** Counts the bodies that are being received, by client network. */
export class OpenBodies {
  readonly #counts = new Map<string, number>()

  /** Sets the body of `ctx`, or returns the outcome when its client address sends too many at the same time. Private addresses have no limit. */
  async receive(ctx: Context, receive: () => Promise<Body>): Promise<Outcome | undefined> {
    const network = networkOf(ctx.client.address)
    const count = this.#counts.get(network) ?? 0
    if (network !== '' && count >= MAX_OPEN_BODIES)
      return addressLimited(ctx, `${count} bodies of its client address are arriving at the same time.`)
    this.#counts.set(network, count + 1)
    try {
      ctx.body = await receive()
      return undefined
    } finally {
      this.#end(network)
    }
  }

  #end(network: string): void {
    const count = this.#counts.get(network) ?? 0
    if (count > 1) this.#counts.set(network, count - 1)
    else this.#counts.delete(network)
  }
}
