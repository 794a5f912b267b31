/** Use of quotas by the network of a client address, on this replica. */

import { BoundedMap } from '../../bounded-map.ts'
import type { CounterKey } from './counters.ts'

const MAX_NETWORKS = 50_000

/** Forgets the networks whose use has not changed for longest. */
export class NetworkShares {
  readonly #used = new BoundedMap<string, number>(MAX_NETWORKS)

  add(key: CounterKey, network: string, quantity: number): void {
    if (network === '' || quantity === 0) return
    const name = nameOf(key, network)
    const used = (this.#used.get(name) ?? 0) + quantity
    if (used > 0) this.#used.set(name, used)
    else this.#used.delete(name)
  }

  of(key: CounterKey, network: string): number {
    return this.#used.get(nameOf(key, network)) ?? 0
  }
}

function nameOf({ project, category, period, start }: CounterKey, network: string): string {
  return `${network} ${project} ${category} ${period} ${start}`
}
