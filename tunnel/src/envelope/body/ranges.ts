/** Ranges of bytes, and bodies without them. */

/** Half-open: `[start, end)`. With a replacement, its bytes replace the range. */
export type Range = [start: number, end: number, replacement?: Buffer]

/** Merges ranges that overlap or touch, and sorts them. A range with a replacement only yields to one that covers it. */
export function mergeRanges(ranges: readonly Range[]): Range[] {
  if (ranges.length < 2) return [...ranges]
  const merged: Range[] = []
  for (const range of ranges.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    const [start, end, replacement] = range
    const last = merged.at(-1)
    const isPlain = !replacement && !last?.[2]
    if (last && (start < last[1] || (start === last[1] && isPlain))) last[1] = Math.max(last[1], end)
    else merged.push([...range])
  }
  return merged
}

/** Returns the bytes that merged ranges take from a body. */
export function sizeOfRanges(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [start, end, replacement]) => sum + end - start - (replacement?.length ?? 0), 0)
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
    for (const [start, end, replacement] of ranges) {
      if (end <= offset + from || start >= offset + chunk.length) continue
      if (start > offset + from) kept.push(chunk.subarray(from, start - offset))
      if (replacement && start >= offset) kept.push(replacement)
      from = Math.min(chunk.length, end - offset)
    }
    if (from < chunk.length) kept.push(chunk.subarray(from))
    offset += chunk.length
    return kept
  }
}
