/** Scrubs JSON texts in tests. */

import { builtInRuleSet, type RuleSet } from '../../../../tunnel/src/policy/scrub/rules.ts'
import { Scrubber } from '../../../../tunnel/src/policy/scrub/scrubber.ts'
import type { Shape } from '../../../../tunnel/src/policy/scrub/walk.ts'

export const DEFAULT = new Scrubber(builtInRuleSet('default'))
export const STRICT = new Scrubber(builtInRuleSet('strict'))

/** Returns the payload after scrubbing. */
export function scrubBytes(
  scrubber: Scrubber,
  payload: Buffer,
  type = 'event',
  shape: Shape = 'event',
): Buffer {
  return scrubber.scrub(payload, type, shape).payload ?? payload
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
