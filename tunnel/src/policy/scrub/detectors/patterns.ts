/** Patterns of operators, matched in linear time. */

import { RE2JS } from 're2js'
import type { Span } from './text-spans.ts'

const MAX_MATCHES = 100 // a search for each takes linear time; with more in one text, all after the first is redacted

/** Compiles a pattern in the syntax of RE2. Throws an error that says what is wrong. */
export function compilePattern(pattern: string, groups: readonly number[]): (text: string) => Span[] {
  const compiled = RE2JS.compile(pattern)
  const unknown = groups.find((group) => group > compiled.groupCount())
  if (unknown !== undefined) throw new Error(`it has no group ${unknown}`)
  return function findMatches(text) {
    if (!compiled.test(text)) return []
    const matcher = compiled.matcher(text)
    const found: Span[] = []
    for (let count = 0; matcher.find(); count++) {
      if (count === MAX_MATCHES) return [[found[0]?.[0] ?? 0, text.length]]
      for (const group of groups) {
        const start = matcher.start(group)
        if (start >= 0) found.push([start, matcher.end(group)])
      }
    }
    return found
  }
}

/** Compiles a pattern that tells if it occurs in a name. Throws as `compilePattern` does. */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  const compiled = RE2JS.compile(pattern)
  return (name) => compiled.test(name)
}
