/** Ring buffer of the most recent texts, with sequence numbers. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RingBuffer } from '../../../tunnel/src/observe/ring-buffer.ts'

const BOUNDS = { entries: 8, bytes: 100 }

describe('RingBuffer', () => {
  it('returns the newest texts unmodified and in order', () => {
    const texts = fc.array(
      fc.string({ unit: 'grapheme', maxLength: 12 }).filter(({ length }) => length <= 30),
    )
    fc.assert(
      fc.property(texts, (all) => {
        const journal = new RingBuffer(BOUNDS)
        for (const text of all) {
          journal.add(text)
          const kept = readAll(journal)
          expect(kept).toEqual(all.slice(journal.oldest() - 1, journal.newest()))
          expect(kept.at(-1)).toBe(text)
        }
      }),
    )
  })

  it('keeps as many texts as its maximum number of entries', () => {
    const journal = new RingBuffer(BOUNDS)
    for (let n = 1; n <= 30; n++) journal.add(String(n))
    expect(readAll(journal)).toEqual(['23', '24', '25', '26', '27', '28', '29', '30'])
  })

  it('keeps as many texts as fit into its bytes', () => {
    const journal = new RingBuffer(BOUNDS)
    for (let n = 0; n < 9; n++) journal.add(String(n).repeat(30))
    expect(readAll(journal)).toEqual(['8'.repeat(30)])
    for (let n = 0; n < 9; n++) journal.add(String(n).repeat(10))
    expect(readAll(journal).length).toBeGreaterThan(4)
  })

  it('is empty at first, and throws for a text that exceeds its size', () => {
    const journal = new RingBuffer(BOUNDS)
    expect([journal.oldest(), journal.newest()]).toEqual([1, 0])
    expect(() => journal.add('x'.repeat(34))).toThrow('a text of 34 characters is too long to be kept')
    expect(readAll(journal)).toEqual([])
  })
})

function readAll(journal: RingBuffer): string[] {
  const count = journal.newest() - journal.oldest() + 1
  return Array.from({ length: count }, (_, index) => journal.read(journal.oldest() + index))
}
