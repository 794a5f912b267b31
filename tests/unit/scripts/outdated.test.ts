/** Choice of the newest version of a dependency. */

import { expect, it } from 'vitest'
import { newestOf } from '../../../scripts/outdated.ts'

const VERSIONS = ['11.5.0', '11.12.0', '11.9.1', '12.0.0-beta.1']

it('takes the newest version by its numbers, and no pre-release', () => {
  expect(newestOf(VERSIONS)).toBe('11.12.0')
})

it('takes the newest version below that of a pin', () => {
  expect(newestOf(VERSIONS, '11.9.2')).toBe('11.9.1')
  expect(newestOf(VERSIONS, '11.5.0')).toBeUndefined()
})
