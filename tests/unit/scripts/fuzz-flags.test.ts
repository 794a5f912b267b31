/** Numbers of the fuzz test on the command line. */

import { expect, it } from 'vitest'
import { takeNumber } from '../../../scripts/test.ts'

it.each([
  [['--runs', '50', 'tests/unit'], '50', ['tests/unit']],
  [['tests/unit', '--runs=50'], '50', ['tests/unit']],
  [['tests/unit'], undefined, ['tests/unit']],
])('takes the number out of %j', (words, number, rest) => {
  expect(takeNumber(words, '--runs')).toBe(number)
  expect(words).toEqual(rest)
})

it.each([
  [['--runs', 'abc']],
  [['--runs']],
  [['--runs=']],
  [['--runs', '-1']],
  [['--runs', '1e9']],
  [['--runs', '0']],
  [['--runs=1234567890']],
])('rejects %j', (words) => {
  expect(() => takeNumber(words, '--runs')).toThrow('--runs needs a number of up to 9 digits')
})
