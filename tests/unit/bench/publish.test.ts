/** A benchmark replaces its own tables in `docs/benchmarks.md`. */

import { expect, it } from 'vitest'
import { fillPlace } from '../../../bench/report/publish.ts'

const PAGE = [
  'Before.',
  '<!-- bench: written by the benchmark -->\n\n| old |\n\n<!-- end of bench -->',
  'After.',
].join('\n')

it('fillPlace replaces only the old table', () => {
  const filled = fillPlace(PAGE, 'bench', '| new |\n')
  expect(filled).toBe(PAGE.replace('old', 'new'))
  expect(fillPlace(filled, 'bench', '| new |')).toBe(filled)
})

it('fillPlace throws when the page has no place for the table', () => {
  expect(() => fillPlace(PAGE, 'bench:delivery', '| new |')).toThrow(
    'docs/benchmarks.md has no place for it: <!-- bench:delivery: written by the benchmark --> … <!-- end of bench:delivery -->',
  )
})
