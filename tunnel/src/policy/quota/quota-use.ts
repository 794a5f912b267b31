/** Use of quotas by project, category and period: what replicas share, and what this one has not shared yet. */

import type { QuotaPeriod } from 'contract/policies'

/** Period that begins at `start`, in milliseconds since 1970. */
export type CounterKey = { project: string; category: string; period: QuotaPeriod; start: number }

/** `used` was forwarded or spooled; `saved` was removed, or would have been. */
export type Use = { used: number; saved: number }

export type QuotaUse = CounterKey & Use

const HOUR_MS = 60 * 60 * 1000
export const PERIOD_MS: Readonly<Record<QuotaPeriod, number>> = { day: 24 * HOUR_MS, hour: HOUR_MS }
export const PERIODS = ['day', 'hour'] as const
const NO_USE: Use = { used: 0, saved: 0 }

/** Returns the start of the period in which `time` lies. Days are those of UTC. */
export function startOf(period: QuotaPeriod, time: number): number {
  return time - (time % PERIOD_MS[period])
}

/** Adds up uses of the same period, and leaves out periods before the last one. */
export function sumUses(uses: readonly QuotaUse[], now: number): QuotaUse[] {
  const sums = new Map<string, QuotaUse>()
  for (const use of uses) {
    if (use.start < startOf(use.period, now) - PERIOD_MS[use.period]) continue
    const known = sums.get(nameOf(use)) ?? { ...use, ...NO_USE }
    sums.set(nameOf(use), { ...known, used: known.used + use.used, saved: known.saved + use.saved })
  }
  return [...sums.values()]
}

/** Bounded by projects times categories times four: the current and the last day, and hour. */
export class QuotaUses {
  readonly #now: () => number
  #shared = new Map<string, QuotaUse>()
  #unshared = new Map<string, QuotaUse>()
  #latestStart = 0

  /** `now` is in milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Adds to a counter. A negative number takes back. */
  add(key: CounterKey, used: number, saved: number): void {
    const name = nameOf(key)
    const known = this.#unshared.get(name)
    if (known) {
      known.used += used
      known.saved += saved
      return
    }
    this.#unshared.set(name, { ...key, used, saved })
    if (key.start <= this.#latestStart) return
    this.#latestStart = key.start
    this.#unshared = byName(sumUses([...this.#unshared.values()], this.#now()))
  }

  /** Returns the use by all replicas, as far as it is known. */
  read(key: CounterKey): Use {
    const name = nameOf(key)
    const [shared = NO_USE, own = NO_USE] = [this.#shared.get(name), this.#unshared.get(name)]
    return { used: Math.max(0, shared.used + own.used), saved: Math.max(0, shared.saved + own.saved) }
  }

  /** Returns what this replica has counted and not shared. */
  unshared(): QuotaUse[] {
    return Array.from(this.#unshared.values(), (use) => ({ ...use })).filter(
      ({ used, saved }) => used !== 0 || saved !== 0,
    )
  }

  /** Takes over the sums of all replicas, of which `own` was unshared before. */
  adopt(shared: readonly QuotaUse[], own: readonly QuotaUse[]): void {
    this.#shared = byName(shared)
    const negative = own.map((use) => ({ ...use, used: -use.used, saved: -use.saved }))
    const left = sumUses([...this.#unshared.values(), ...negative], this.#now())
    this.#unshared = byName(left.filter(({ used, saved }) => used !== 0 || saved !== 0))
  }
}

function byName(uses: readonly QuotaUse[]): Map<string, QuotaUse> {
  return new Map(uses.map((use) => [nameOf(use), use]))
}

/** Returns the name of a counter, which no other one has. */
export function nameOf({ project, category, period, start }: CounterKey): string {
  return `${project} ${category} ${period} ${start}`
}
