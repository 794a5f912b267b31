/** Set of rules, and which of them may apply to a value. */

import { CHARACTERS, classify } from './json-scanner.ts'
import type { Rule } from './redaction.ts'
import type { Selector } from './selector.ts'

export type RuleSet = {
  /** Rules for every value. */
  everywhere: readonly Rule[]
  /** Rules for the values that a selector matches. */
  selected: readonly { selector: Selector; rules: readonly Rule[] }[]
}

const MAX_NAMES = 2000
const MAX_NAME_LENGTH = 64

/** Finds the rules that may apply to a value. Remembers which names match, since SDKs send the same names again and again. */
export class RuleIndex {
  readonly selected: RuleSet['selected']
  readonly numberRules: readonly Rule[]
  readonly #textRules: readonly Rule[]
  readonly #nameRules: readonly Rule[]
  readonly #names = new Map<string, Rule | undefined>()

  constructor({ everywhere, selected }: RuleSet) {
    this.selected = selected
    this.#textRules = everywhere.filter(({ find }) => find)
    this.numberRules = everywhere.filter(({ findsNumbers }) => findsNumbers)
    this.#nameRules = everywhere.filter(({ matchesName }) => matchesName)
  }

  /** Tells if a rule may find something in a string with these characters. */
  mayMatch(mask: number, length: number, digits: number): boolean {
    if (mask & CHARACTERS.ESCAPE) return true
    return this.#textRules.some((rule) => isCandidate(rule, mask, length, digits))
  }

  /** Returns the rules that may find something in a text. */
  rulesForText(text: string): Rule[] {
    const { mask, digits } = classify(text)
    return this.#textRules.filter((rule) => isCandidate(rule, mask, text.length, digits))
  }

  /** Returns the rule that redacts members of a name as a whole. */
  ruleForName(name: string): Rule | undefined {
    if (this.#nameRules.length === 0) return undefined
    if (name.length > MAX_NAME_LENGTH) return this.#findNameRule(name)
    if (this.#names.has(name)) return this.#names.get(name)
    const rule = this.#findNameRule(name)
    if (this.#names.size >= MAX_NAMES) this.#names.clear()
    this.#names.set(Buffer.from(name).toString(), rule) // V8's substrings keep the whole payload in memory
    return rule
  }

  #findNameRule(name: string): Rule | undefined {
    return this.#nameRules.find(({ matchesName }) => matchesName?.(name))
  }
}

function isCandidate(rule: Rule, mask: number, length: number, digits: number): boolean {
  return (mask & rule.needs) !== 0 && length >= rule.minLength && digits >= rule.minDigits
}
