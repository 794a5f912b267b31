/** Ranges that are removed from a body, or replaced. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createRangeRemover,
  mergeRanges,
  type Range,
  sizeOfRanges,
} from '../../../../tunnel/src/envelope/body/ranges.ts'

const replace = (start: number, end: number, text: string): Range => [start, end, Buffer.from(text)]

describe('mergeRanges', () => {
  it.each<[Range[], Range[]]>([
    [
      [
        [4, 6],
        [0, 2],
      ],
      [
        [0, 2],
        [4, 6],
      ],
    ],
    [
      [
        [0, 2],
        [2, 4],
      ],
      [[0, 4]],
    ],
    [
      [replace(2, 3, 'x'), [3, 5]],
      [replace(2, 3, 'x'), [3, 5]],
    ],
    [[[0, 9], replace(2, 3, 'x')], [[0, 9]]],
    [[replace(0, 3, 'x'), [0, 9]], [[0, 9]]],
  ])('merges %j into %j', (ranges, merged) => {
    expect(mergeRanges(ranges)).toEqual(merged)
  })
})

describe('createRangeRemover', () => {
  it('writes each replacement once, for any division of the body into chunks', () => {
    const body = 'a:20,b:[1,22,333]'
    const ranges = mergeRanges([replace(2, 4, '1'), [10, 13], replace(13, 16, 'long text')])
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(body.length)), (cuts) => {
        const remove = createRangeRemover(ranges)
        const ends = [...cuts.toSorted((a, b) => a - b), body.length]
        const chunks = ends.map((end, index) => Buffer.from(body.slice(ends[index - 1] ?? 0, end)))
        const left = Buffer.concat(chunks.flatMap(remove)).toString()
        expect(left).toBe('a:1,b:[1,long text]')
        expect(left).toHaveLength(body.length - sizeOfRanges(ranges))
      }),
    )
  })
})
