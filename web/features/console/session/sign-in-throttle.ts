/** Slows down password guessing: the wait doubles with each failure. */

import { type CountedNetwork, networksAround } from 'contract/networks'
import type { Turn } from '../../../lib/password.ts'

/** Counts a known device apart from its network, so that others at the same address do not delay it, until it has too many failures itself. */
export function createSignInThrottle(now: () => number) {
  const [byNetwork, byDevice] = [createThrottle(now), createThrottle(now)]
  return { begin }

  /**
   * Returns the seconds to wait, 0 for an attempt that may be made, its turn among others, and functions to call when the password was right
   * or not checked. `device` is the id of a browser that has signed in before.
   */
  function begin(network: string, device: string | undefined) {
    const own = device === undefined ? undefined : [{ name: device, factor: 1 }]
    if (own && byDevice.take(own) === 0) return attemptOf(byDevice, own, 0, 'first')
    const networks = networksAround(network)
    return attemptOf(byNetwork, networks, byNetwork.take(networks), 'last')
  }

  function attemptOf(throttle: Throttle, counted: CountedNetwork[], wait: number, turn: Turn) {
    return {
      ...{ wait, turn },
      succeed: () => throttle.forgive(counted),
      withdraw: () => throttle.withdraw(counted),
    }
  }
}

const FREE_ATTEMPTS = 5
const MAX_WAIT_MS = 15 * 60 * 1000 // 15 min
const MAX_NETWORKS = 10_000 // networks; beyond, the one without attempts for longest is dropped

type Record = { wrong: number; until: number }

type Throttle = ReturnType<typeof createThrottle>

/** `now` in milliseconds. */
export function createThrottle(now: () => number) {
  const records = new Map<string, Record>()
  return { take, forgive, withdraw }

  /**
   * Returns the seconds to wait before the next attempt. An allowed attempt counts as failed until `forgive`, for each of the networks, of
   * which the wider ones have more attempts before they wait.
   */
  function take(networks: readonly CountedNetwork[]): number {
    const rest = Math.max(...networks.map(({ name }) => records.get(name)?.until ?? 0)) - now()
    if (rest > 0) return Math.ceil(rest / 1000)
    for (const network of networks) countFailure(network)
    return 0
  }

  function countFailure({ name, factor }: CountedNetwork): void {
    const wrong = (records.get(name)?.wrong ?? 0) + 1
    const free = FREE_ATTEMPTS * factor
    const wait = wrong < free ? 0 : Math.min(MAX_WAIT_MS, 1000 * 2 ** (wrong - free))
    records.delete(name)
    const [quietest] = records.keys()
    if (records.size >= MAX_NETWORKS && quietest !== undefined) records.delete(quietest)
    records.set(name, { wrong: Math.min(wrong, 50), until: now() + wait })
  }

  function forgive(networks: readonly CountedNetwork[]): void {
    for (const { name } of networks) records.delete(name)
  }

  /** Takes an attempt back of which the password was not checked. */
  function withdraw(networks: readonly CountedNetwork[]): void {
    for (const { name } of networks) {
      const { wrong } = records.get(name) ?? { wrong: 0 }
      if (wrong > 0) records.set(name, { wrong: wrong - 1, until: 0 })
    }
  }
}
