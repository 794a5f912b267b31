/** Simulated outage in words. */

import { describe, expect, it } from 'vitest'
import { describeOutage } from '../../../../web/features/lab/outage/describe-outage.ts'

describe('describeOutage', () => {
  it('counts the envelopes that arrived after the outage, and says nothing of others', () => {
    expect(describeOutage({ remaining_ms: 0, pending: 0, delivered: 3 })).toBe(
      'The outage is over. 3 spooled envelopes arrived in the inbox.',
    )
  })
})
