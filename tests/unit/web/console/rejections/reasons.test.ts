/** Texts and time range of the rejections page. */

import { describe, expect, it } from 'vitest'
import type { OutcomeTime, Rejections } from '../../../../../contract/admin-api.ts'
import { explain } from '../../../../../web/features/console/reasons.ts'
import {
  countRejections,
  RejectionHistory,
} from '../../../../../web/features/console/rejections/rejections.ts'

describe('Rejected, filtered and lost envelopes', () => {
  it('are not explained for unknown reasons and for delivered envelopes', () => {
    expect(explain('rejected', 'constructor')).toBeUndefined()
    expect(explain('delivered', undefined)).toBeUndefined()
  })

  it('are counted by outcome and reason, most frequent first, including final outcomes', () => {
    const rejections = countRejections({
      outcomes: { delivered: 9, spooled: 9, 'rejected:dsn-unknown': 2, declined: 4, 'filtered:empty': 0 },
      final_outcomes: { delivered: 9, expired: 3, evicted: 1 },
    })
    expect(rejections).toEqual([
      { stage: 'answered', outcome: 'declined', reason: '', count: 4 },
      { stage: 'waited', outcome: 'expired', reason: '', count: 3 },
      { stage: 'answered', outcome: 'rejected', reason: 'dsn-unknown', count: 2 },
      { stage: 'waited', outcome: 'evicted', reason: '', count: 1 },
    ])
  })

  it('keep their last request when the replica that rejected it stops', () => {
    const sample = { causes: [], request: 'POST /monitoring', headers: [] }
    const answered = { stage: 'answered' } as const
    const tell = (code: string, first: number, last: number): Rejections => ({
      rejections: [{ ...sample, code, last }],
      times: [{ ...answered, outcome: 'rejected', reason: code, first, last }],
      settings: { [code]: [{ name: 'MAX_ENVELOPE_BYTES', value: String(last) }] },
    })
    const book = new RejectionHistory()
    book.add([tell('too-many-items', 10, 20)])
    book.add([])
    const { rejections, times, settings } = book.add([
      tell('too-many-items', 30, 40),
      tell('dsn-unknown', 1, 2),
    ])
    expect(rejections).toMatchObject([
      { code: 'too-many-items', last: 40 },
      { code: 'dsn-unknown', last: 2 },
    ])
    expect(times).toEqual<OutcomeTime[]>([
      { ...answered, outcome: 'rejected', reason: 'too-many-items', first: 10, last: 40 },
      { ...answered, outcome: 'rejected', reason: 'dsn-unknown', first: 1, last: 2 },
    ])
    expect(settings['too-many-items']).toEqual([{ name: 'MAX_ENVELOPE_BYTES', value: '40' }]) // the current value
  })
})
