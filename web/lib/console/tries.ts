/** Slows down whoever guesses: the wait doubles with each wrong try from one network. */

export type Tries = {
  /** Seconds that this network has to wait before its next try; 0 for none. A try that may be made counts as wrong until told otherwise. */
  take(network: string): number
  /** It was right. */
  forgive(network: string): void
}

const FREE = 5
const LONGEST_MS = 15 * 60 * 1000 // 15 min
const MOST = 10_000 // networks; past them the one that has been quiet longest is forgotten

type Record = { wrong: number; until: number }

/** `now` in milliseconds. */
export function createTries(now: () => number): Tries {
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
