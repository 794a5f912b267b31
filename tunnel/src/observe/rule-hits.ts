/** Hits of each rule of the policies in the last hour, and rules that match nothing. */

import type { PolicyName, RuleStatus } from 'contract/policies'
import type { Logger } from 'pino'

export type PolicyRule = Pick<RuleStatus, 'policy' | 'rule'>

type Known = PolicyRule & {
  /** An operator has written it. */
  isWritten: boolean
  last: number | undefined
  /** Hits of each minute of the last hour. */
  minutes: Map<number, number>
  isLogged: boolean
}

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60
const DAY_MS = 24 * 60 * MINUTE_MS

/** Bounded by the rules, which are a closed set. */
export class RuleHits {
  readonly #now: () => number
  readonly #since: number
  readonly #rules = new Map<string, Known>()

  /** `written` are the rules of the operator. `now` is in milliseconds since 1970. */
  constructor(written: readonly PolicyRule[], now: () => number) {
    this.#now = now
    this.#since = now()
    for (const { policy, rule } of written) this.#ruleOf(policy, rule).isWritten = true
  }

  /** Counts what a rule redacts or removes, or would. */
  note(policy: PolicyName, rule: string, count: number): void {
    const { minutes } = this.match(policy, rule)
    const minute = this.#minute()
    minutes.set(minute, (minutes.get(minute) ?? 0) + count)
    for (const old of minutes.keys()) if (old <= minute - HOUR_MINUTES) minutes.delete(old)
  }

  /** Notes that a rule applies to something, whether or not it removes it. */
  match(policy: PolicyName, rule: string): { minutes: Map<number, number> } {
    const known = this.#ruleOf(policy, rule)
    known.last = this.#now()
    known.isLogged = false
    return known
  }

  all(): RuleStatus[] {
    const first = this.#minute() - HOUR_MINUTES
    return Array.from(this.#rules.values(), (known) => ({
      policy: known.policy,
      rule: known.rule,
      last_hour: [...known.minutes].reduce((sum, [minute, count]) => sum + (minute > first ? count : 0), 0),
      ...(known.last !== undefined && { last: known.last }),
      ...(this.#isUnmatched(known) && { unmatched: true as const }),
    }))
  }

  /** Logs each rule of the operator that has matched nothing for a day, once. */
  logUnmatched(logger: Pick<Logger, 'warn'>): void {
    for (const known of this.#rules.values()) {
      if (known.isLogged || !this.#isUnmatched(known)) continue
      known.isLogged = true
      const { policy, rule } = known
      logger.warn({ policy, rule }, 'the rule has matched nothing for a day on this replica')
    }
  }

  #isUnmatched({ isWritten, last = this.#since }: Known): boolean {
    return isWritten && this.#now() - last >= DAY_MS
  }

  #ruleOf(policy: PolicyName, rule: string): Known {
    const name = `${policy} ${rule}`
    const known = this.#rules.get(name)
    if (known) return known
    const added = { policy, rule, isWritten: false, last: undefined, minutes: new Map(), isLogged: false }
    this.#rules.set(name, added)
    return added
  }

  #minute(): number {
    return Math.floor(this.#now() / MINUTE_MS)
  }
}
