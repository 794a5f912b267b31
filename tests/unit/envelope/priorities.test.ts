/** Priorities of data categories. */

import { describe, expect, it } from 'vitest'
import { mostImportant, priorityOf } from '../../../tunnel/src/envelope/priorities.ts'

describe('Priorities', () => {
  it('place security reports after errors and sessions, with logs', () => {
    expect(mostImportant(['security', 'error'])).toBe('error')
    expect(mostImportant(['security', 'session'])).toBe('session')
    expect(priorityOf('security')).toBe(priorityOf('log_item'))
  })
})
