/** Set of rules, and which of them may apply to a value. */

import { CHARACTERS, classify } from './json-scanner.ts'
import type { Rule } from './redaction.ts'
import type { Selector } from './selector.ts'

export type RuleSet = {
  /** Rules for every value. */
  everywhere: readonly Rule[]
  /** Rules for the values that a selector matches. */
  selected: readonly { selector: Selector; rules: readonly Rule[] }[]
  visitors: VisitorRules
}

/** Treatment of the data that tells visitors apart. */
export type VisitorRules = {
  /** Method for IDs, names and addresses of users in which a rule finds something: a constant would make all users one. */
  users: { kind: 'remove' } | { kind: 'hash'; key: string }
  /** Keeps the address for replies in feedback. */
  keepsReplyAddress: boolean
  /** Prevents Sentry from adding the client address. */
  hidesAddress: boolean
}

const MAX_NAMES = 2000
const MAX_NAME_LENGTH = 64

/** Finds the rules that may apply to a value. Remembers which names match, since SDKs send the same names again and again. */
export class RuleIndex {
  readonly selected: RuleSet['selected']
  readonly visitors: VisitorRules
  readonly numberRules: readonly Rule[]
  /** Tells if a selected rule may redact a value as a whole. */
  readonly selectsWhole: boolean
  readonly #textRules: readonly Rule[]
  readonly #nameRules: readonly Rule[]
  readonly #selectedRules: ReadonlySet<Rule>
  /** By name; `null` for none. */
  readonly #names = new Map<string, Rule | null>()
  /** Classes of characters of which a text has one if a rule finds something in it. */
  readonly #needs: number

  constructor({ everywhere, selected, visitors }: RuleSet) {
    this.visitors = visitors
    this.selected = selected
    this.#selectedRules = new Set(selected.flatMap(({ rules }) => rules))
    this.selectsWhole = [...this.#selectedRules].some(({ isWhole, matchesName }) => isWhole || matchesName)
    this.#needs = everywhere.reduce<number>((needs, rule) => needs | rule.needs, CHARACTERS.ESCAPE)
    this.#textRules = everywhere.filter(({ find }) => find)
    this.numberRules = everywhere.filter(({ findsNumbers }) => findsNumbers)
    this.#nameRules = everywhere.filter(({ matchesName }) => matchesName)
  }

  /** Tells if a rule is one of the operator's. */
  isSelected(rule: Rule): boolean {
    return this.#selectedRules.has(rule)
  }

  /** Tells if a rule may find something in a string with these characters. */
  mayMatch(mask: number, length: number, digits: number): boolean {
    if ((mask & this.#needs) === 0) return false
    if (mask & CHARACTERS.ESCAPE) return true
    for (const rule of this.#textRules) if (isCandidate(rule, mask, length, digits)) return true
    return false
  }

  /** Returns the rules that may find something in a text. */
  readonly rulesForText = (text: string): Rule[] => {
    const { mask, digits } = classify(text)
    return this.#textRules.filter((rule) => isCandidate(rule, mask, text.length, digits))
  }

  /** Returns the rule that redacts members of a name as a whole. */
  ruleForName(name: string): Rule | undefined {
    const known = this.#names.get(name)
    if (known !== undefined) return known === null ? undefined : known
    const rule = this.#nameRules.find(({ matchesName }) => matchesName?.(name))
    if (name.length > MAX_NAME_LENGTH) return rule
    if (this.#names.size >= MAX_NAMES) this.#names.clear()
    this.#names.set(Buffer.from(name).toString(), rule ?? null) // V8's substrings keep the whole payload in memory
    return rule
  }
}

function isCandidate(rule: Rule, mask: number, length: number, digits: number): boolean {
  return (mask & rule.needs) !== 0 && length >= rule.minLength && digits >= rule.minDigits
}
