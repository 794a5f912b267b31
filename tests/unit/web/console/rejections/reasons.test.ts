/** Texts and time range of the rejections page. */

import { describe, expect, it } from 'vitest'
import type { OutcomeTime, Rejections } from '../../../../../contract/admin-api.ts'
import { NO_FIGURES } from '../../../../../web/features/console/monitor/figures.ts'
import { explain } from '../../../../../web/features/console/reasons.ts'
import {
  countRejections,
  RejectionHistory,
} from '../../../../../web/features/console/rejections/rejections.ts'

describe('Rejected, filtered and lost envelopes', () => {
  it.each([
    ['rate_limited', undefined],
    ['rate_limited', 'limited'],
    ['rate_limited', 'throttled'],
    ['filtered', 'empty'],
    ['filtered', 'duplicate'],
    ['filtered', 'next-noise'],
    ['filtered', 'web-crawlers'],
    ['declined', undefined],
    ['aborted', undefined],
    ['expired', undefined],
    ['purged', undefined],
    ['rejected', 'dsn-unknown'],
  ] as const)('are explained, with a next step, for %s (%s)', (answer, reason) => {
    const explained = explain(answer, reason)
    expect(explained?.sentence).toMatch(/\w.*\.$/)
    expect(explained?.fix).toMatch(/\w.*\.$/)
  })

  it('are not explained for unknown reasons and for delivered envelopes', () => {
    expect(explain('rejected', 'constructor')).toBeUndefined()
    expect(explain('delivered', undefined)).toBeUndefined()
  })

  it('are counted by outcome and reason over all projects, most frequent first, including final outcomes', () => {
    const category = 'error'
    const rejections = countRejections({
      ...NO_FIGURES,
      outcomes: [
        { outcome: 'delivered', reason: '', project: 'p/1', category, count: 9 },
        { outcome: 'rate_limited', reason: 'throttled', project: 'p/1', category, count: 1 },
        { outcome: 'rate_limited', reason: 'throttled', project: 'p/2', category, count: 2 },
        { outcome: 'declined', reason: '', project: 'p/1', category, count: 1 },
      ],
      final_outcomes: [
        { final_outcome: 'delivered', project: 'p/1', count: 9 },
        { final_outcome: 'declined', project: 'p/2', count: 2 },
        { final_outcome: 'expired', project: 'p/1', count: 7 },
      ],
    })
    expect(rejections).toEqual([
      { stage: 'waited', outcome: 'expired', reason: '', count: 7, projects: ['p/1'] },
      { stage: 'answered', outcome: 'rate_limited', reason: 'throttled', count: 3, projects: ['p/1', 'p/2'] },
      { stage: 'waited', outcome: 'declined', reason: '', count: 2, projects: ['p/2'] },
      { stage: 'answered', outcome: 'declined', reason: '', count: 1, projects: ['p/1'] },
    ])
  })

  it('keep their last request when the replica that rejected it stops', () => {
    const sample = { causes: [], request: 'POST /monitoring', headers: [] }
    const answered = { stage: 'answered' } as const
    const tell = (code: string, first: number, last: number): Rejections => ({
      rejections: [{ ...sample, code, last }],
      times: [{ ...answered, outcome: 'rejected', reason: code, first, last }],
      settings: { [code]: [{ name: 'MAX_EVENT_BYTES', value: String(last) }] },
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
    expect(settings['too-many-items']).toEqual([{ name: 'MAX_EVENT_BYTES', value: '40' }]) // the current value
  })
})
