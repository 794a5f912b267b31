/** Ranges of bytes, and bodies without them. */

/** Half-open: `[start, end)`. */
export type Range = [start: number, end: number]

/** Merges ranges that overlap or touch, and sorts them. */
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

/** Removes merged ranges from the chunks of a body. */
export async function* removeRanges(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  ranges: readonly Range[],
): AsyncGenerator<Buffer> {
  const remove = createRangeRemover(ranges)
  for await (const chunk of chunks) yield* remove(chunk)
}

/** Returns a function that is called with each chunk of a body in turn and returns the parts outside of the ranges. */
export function createRangeRemover(ranges: readonly Range[]): (chunk: Buffer) => Buffer[] {
  let offset = 0
  return function removeFrom(chunk) {
    const kept: Buffer[] = []
    let from = 0
    for (const [start, end] of ranges) {
      if (end <= offset + from || start >= offset + chunk.length) continue
      if (start > offset + from) kept.push(chunk.subarray(from, start - offset))
      from = Math.min(chunk.length, end - offset)
    }
    if (from < chunk.length) kept.push(chunk.subarray(from))
    offset += chunk.length
    return kept
  }
}
