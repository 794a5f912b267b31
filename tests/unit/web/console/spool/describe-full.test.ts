/** Time until a spool is full. */

import { expect, it } from 'vitest'
import { describeFull } from '../../../../../web/features/console/spool/pending.ts'

const DAY_MS = 86_400_000

it.each([
  [undefined, 'not growing'],
  [7_200, '2 h'],
  [3_586 * 86_400, 'never: entries expire earlier'],
])('describes a spool that is full in %s s, with a retention of one day, as: %s', (seconds, text) => {
  expect(describeFull(seconds, DAY_MS)).toBe(text)
})
