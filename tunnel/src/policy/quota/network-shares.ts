/** Use of quotas by the networks around a client address, on this replica. */

import { networksAround } from 'contract/networks'
import { BoundedMap } from '../../bounded-map.ts'
import type { CounterKey } from './counters.ts'

const MAX_NETWORKS = 50_000

/** Forgets the networks whose use has not changed for longest. */
export class NetworkShares {
  readonly #used = new BoundedMap<string, number>(MAX_NETWORKS)

  add(key: CounterKey, network: string, quantity: number): void {
    if (quantity === 0) return
    for (const each of networksAround(network)) {
      const name = nameOf(key, each.name)
      const used = (this.#used.get(name) ?? 0) + quantity
      if (used > 0) this.#used.set(name, used)
      else this.#used.delete(name)
    }
  }

  /** Reports whether `quantity` more would exceed the share of the network, or of one around it. */
  wouldExceed(key: CounterKey, network: string, quantity: number, share: number): boolean {
    return networksAround(network).some(
      ({ name, factor }) => (this.#used.get(nameOf(key, name)) ?? 0) + quantity > share * factor,
    )
  }
}

function nameOf({ project, category, period, start }: CounterKey, network: string): string {
  return `${network} ${project} ${category} ${period} ${start}`
}
