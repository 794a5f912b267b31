/** Hits of each rule of the policies in the last hour. */

import type { PolicyName, RuleStatus } from 'contract/policies'

export type PolicyRule = Pick<RuleStatus, 'policy' | 'rule'>

type Hits = PolicyRule & {
  last: number | undefined
  /** Hits of each minute of the last hour. */
  minutes: Map<number, number>
}

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60

/** Bounded by the rules, which are a closed set. */
export class RuleHits {
  readonly #now: () => number
  readonly #rules = new Map<string, Hits>()

  /** `written` are the rules of the operator, which are listed without a hit, too. `now` is in milliseconds since 1970. */
  constructor(written: readonly PolicyRule[], now: () => number) {
    this.#now = now
    for (const { policy, rule } of written) this.#hitsOf(policy, rule)
  }

  /** Counts what a rule redacts or removes, or would. */
  note(policy: PolicyName, rule: string, count: number): void {
    const hits = this.#hitsOf(policy, rule)
    hits.last = this.#now()
    const minute = this.#minute()
    hits.minutes.set(minute, (hits.minutes.get(minute) ?? 0) + count)
    for (const old of hits.minutes.keys()) if (old <= minute - HOUR_MINUTES) hits.minutes.delete(old)
  }

  all(): RuleStatus[] {
    const first = this.#minute() - HOUR_MINUTES
    return Array.from(this.#rules.values(), ({ policy, rule, last, minutes }) => ({
      ...{ policy, rule },
      last_hour: [...minutes].reduce((sum, [minute, count]) => sum + (minute > first ? count : 0), 0),
      ...(last !== undefined && { last }),
    }))
  }

  #hitsOf(policy: PolicyName, rule: string): Hits {
    const name = `${policy} ${rule}`
    const known = this.#rules.get(name)
    if (known) return known
    const added: Hits = { policy, rule, last: undefined, minutes: new Map() }
    this.#rules.set(name, added)
    return added
  }

  #minute(): number {
    return Math.floor(this.#now() / MINUTE_MS)
  }
}
