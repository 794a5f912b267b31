/** Scrubs JSON texts in tests. */

import { createRangeRemover } from '../../../../tunnel/src/envelope/body/ranges.ts'
import type { Shape } from '../../../../tunnel/src/policy/scrub/meta.ts'
import type { RuleSet } from '../../../../tunnel/src/policy/scrub/rule-index.ts'
import { builtInRuleSet } from '../../../../tunnel/src/policy/scrub/rules.ts'
import { Scrubber } from '../../../../tunnel/src/policy/scrub/scrubber.ts'

export const DEFAULT = new Scrubber(builtInRuleSet('default'))
export const STRICT = new Scrubber(builtInRuleSet('strict'))

/** Returns the payload after scrubbing. */
export function scrubBytes(
  scrubber: Scrubber,
  payload: Buffer,
  type = 'event',
  shape: Shape = 'event',
): Buffer {
  const { edits } = scrubber.scrub(payload, type, shape)
  return Buffer.concat(createRangeRemover(edits)(payload))
}

export function scrubText(scrubber: Scrubber, json: string, type = 'event', shape: Shape = 'event'): string {
  return scrubBytes(scrubber, Buffer.from(json), type, shape).toString()
}

/** Scrubs a value and returns it without its `_meta`. */
export function scrubValue(scrubber: Scrubber, value: object): Record<string, unknown> {
  const { _meta: _, ...rest } = JSON.parse(scrubText(scrubber, JSON.stringify(value)))
  return rest
}

/** Returns `_meta` of a scrubbed value. */
export function metaOf(scrubber: Scrubber, value: object): unknown {
  return JSON.parse(scrubText(scrubber, JSON.stringify(value)))._meta
}

export function scrubberOf(rules: Partial<RuleSet>): Scrubber {
  return new Scrubber({ ...builtInRuleSet('default'), everywhere: [], ...rules })
}
