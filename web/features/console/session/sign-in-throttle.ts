/** Slows down password guessing: the wait doubles with each failure. */

/** Counts a known device apart from its network, so that others at the same address do not delay it, until it has too many failures itself. */
export function createSignInThrottle(now: () => number) {
  const [byNetwork, byDevice] = [createThrottle(now), createThrottle(now)]
  return { begin }

  /**
   * Returns the seconds to wait, 0 for an attempt that may be made, and a function to call when the password was right. `device` is the id of a
   * browser that has signed in before.
   */
  function begin(network: string, device: string | undefined) {
    if (device !== undefined && byDevice.take(device) === 0)
      return { wait: 0, succeed: () => byDevice.forgive(device) }
    return { wait: byNetwork.take(network), succeed: () => byNetwork.forgive(network) }
  }
}

const FREE_ATTEMPTS = 5
const MAX_WAIT_MS = 15 * 60 * 1000 // 15 min
const MAX_NETWORKS = 10_000 // networks; beyond, the one without attempts for longest is dropped

type Record = { wrong: number; until: number }

/** `now` in milliseconds. */
export function createThrottle(now: () => number) {
  const records = new Map<string, Record>()
  return { take, forgive: (network: string) => void records.delete(network) }

  /** Returns the seconds to wait before the next attempt. An allowed attempt counts as failed until `forgive`. */
  function take(network: string): number {
    const { wrong, until } = records.get(network) ?? { wrong: 0, until: 0 }
    const rest = until - now()
    if (rest > 0) return Math.ceil(rest / 1000)
    const wait =
      wrong + 1 < FREE_ATTEMPTS ? 0 : Math.min(MAX_WAIT_MS, 1000 * 2 ** (wrong + 1 - FREE_ATTEMPTS))
    records.delete(network)
    const [quietest] = records.keys()
    if (records.size >= MAX_NETWORKS && quietest !== undefined) records.delete(quietest)
    records.set(network, { wrong: Math.min(wrong + 1, 50), until: now() + wait })
    return 0
  }
}
