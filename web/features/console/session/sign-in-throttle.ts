/** Slows down whoever guesses: the wait doubles with each wrong try from one network. */

export type SignInAttempts = {
  /** Seconds that this network has to wait before its next try; 0 for none. A try that may be made counts as wrong until told otherwise. */
  take(network: string): number
  /** It was right. */
  forgive(network: string): void
}

/** An attempt to sign in. */
export type Attempt = {
  /** Seconds to wait before the next attempt; 0 when this one may be made. */
  wait: number
  /** Reports that the password was right. */
  succeed(): void
}

export type Attempts = {
  /** `device` is the id of a browser that has signed in before. */
  begin(network: string, device: string | undefined): Attempt
}

/**
 * Counts the attempts of a known device apart from those of its network: strangers at the same address do not delay it. A device with
 * too many failures is on hold, and counts as its network does until that is over.
 */
export function createAttempts(now: () => number): Attempts {
  const [byNetwork, byDevice] = [createSignInAttempts(now), createSignInAttempts(now)]
  return { begin }

  function begin(network: string, device: string | undefined): Attempt {
    if (device !== undefined && byDevice.take(device) === 0)
      return { wait: 0, succeed: () => byDevice.forgive(device) }
    return { wait: byNetwork.take(network), succeed: () => byNetwork.forgive(network) }
  }
}

const FREE = 5
const LONGEST_MS = 15 * 60 * 1000 // 15 min
const MOST = 10_000 // networks; past them the one that has been quiet longest is forgotten

type Record = { wrong: number; until: number }

/** `now` in milliseconds. */
export function createSignInAttempts(now: () => number): SignInAttempts {
  const records = new Map<string, Record>()
  return { take, forgive: (network) => void records.delete(network) }

  function take(network: string): number {
    const { wrong, until } = records.get(network) ?? { wrong: 0, until: 0 }
    const rest = until - now()
    if (rest > 0) return Math.ceil(rest / 1000)
    const wait = wrong + 1 < FREE ? 0 : Math.min(LONGEST_MS, 1000 * 2 ** (wrong + 1 - FREE))
    records.delete(network)
    const [quietest] = records.keys()
    if (records.size >= MOST && quietest !== undefined) records.delete(quietest)
    records.set(network, { wrong: Math.min(wrong + 1, 50), until: now() + wait })
    return 0
  }
}
