/** Remedy of an answer that neither accepts nor declines an envelope. */

import { expect, it } from 'vitest'
import { remedyOfStatus } from '../../../contract/situation/upstream-errors.ts'

it('names a remedy for each status that an operator has to mend, and none for others', () => {
  expect(remedyOfStatus(200)).toContain('the host in SENTRY_DSN')
  for (const status of [401, 403, 404]) expect(remedyOfStatus(status)).toContain('key in SENTRY_DSN')
  for (const status of [400, 405, 415]) expect(remedyOfStatus(status)).toContain('settings of the server')
  for (const status of [429, 500, 503]) expect(remedyOfStatus(status)).toBe('')
})
