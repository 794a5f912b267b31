/** Ranges of bytes. */

/** Half-open: `[start, end)`. */
export type Range = [start: number, end: number]

/** The same bytes as ranges in order, none touching another. */
export function mergeRanges(ranges: readonly Range[]): Range[] {
  if (ranges.length < 2) return [...ranges]
  const merged: Range[] = []
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  return merged
}
