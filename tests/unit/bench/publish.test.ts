/** What a benchmark has found stands in README once, in its own place. */

import { expect, it } from 'vitest'
import { fillPlace } from '../../../bench/report/publish.ts'

const PAGE = [
  'Before.',
  '<!-- bench: written by the benchmark -->\n\n| old |\n\n<!-- end of bench -->',
  'After.',
].join('\n')

it('a new table takes the place of the old one, and nothing else changes', () => {
  const filled = fillPlace(PAGE, 'bench', '| new |\n')
  expect(filled).toBe(PAGE.replace('old', 'new'))
  expect(fillPlace(filled, 'bench', '| new |')).toBe(filled)
})

it('a table without a place in README is told of, and not put somewhere', () => {
  expect(() => fillPlace(PAGE, 'bench:delivery', '| new |')).toThrow(
    'README.md has no place for it: <!-- bench:delivery: written by the benchmark --> … <!-- end of bench:delivery -->',
  )
})
