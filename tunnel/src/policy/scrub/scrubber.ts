/** Scrubs the JSON payload of an item: finds what its rules redact, as edits of the bytes. */

import { isUtf8 } from 'node:buffer'
import type { Range } from '../../envelope/body/ranges.ts'
import { ScrubBudget } from './budget.ts'
import { Unscrubbable } from './json-scanner.ts'
import { Walk } from './json-walk.ts'
import type { Shape } from './meta.ts'
import { applyRules } from './redaction.ts'
import { RuleIndex, type RuleSet } from './rule-index.ts'

export type Scrubbed = {
  /** Changes of the payload, sorted and apart from each other. */
  edits: readonly Range[]
  /** Redacted values by rule. */
  hits: ReadonlyMap<string, number>
}

export class Scrubber {
  readonly #rules: RuleIndex

  constructor(rules: RuleSet) {
    this.#rules = new RuleIndex(rules)
  }

  /** Throws `Unscrubbable` for a payload that Sentry's JSON parser would not accept either, for one with 20,000 values to redact, and when the budget is used up. */
  scrub(payload: Buffer, itemType: string, shape: Shape, budget = new ScrubBudget(() => 0)): Scrubbed {
    if (!isUtf8(payload)) throw new Unscrubbable('it is not UTF-8')
    const walk = new Walk(this.#rules, payload, itemType, shape, budget)
    walk.run()
    return { edits: walk.edits.ranges, hits: walk.hits }
  }

  /** Scrubs a text that is no JSON, such as the value of a header. */
  scrubText(text: string): string {
    let scrubbed = ''
    let at = 0
    for (const { start, end, text: redacted } of applyRules(text, this.#rules.rulesForText, 0)) {
      scrubbed += text.slice(at, start) + redacted
      at = end
    }
    return scrubbed + text.slice(at)
  }
}
