/** Parts of a text. */

/** Half-open part of a text, in UTF-16 units. */
export type Span = readonly [start: number, end: number]

/** Returns a function that finds all matches of a global pattern. */
export function matches(pattern: RegExp): (text: string) => Span[] {
  return function findMatches(text) {
    pattern.lastIndex = 0
    const found: Span[] = []
    for (let match = pattern.exec(text); match; match = pattern.exec(text))
      found.push([match.index, pattern.lastIndex])
    return found
  }
}
