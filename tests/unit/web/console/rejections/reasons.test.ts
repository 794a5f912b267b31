/** What the console says of envelopes that did not go through, and for how long it knows. */

import { describe, expect, it } from 'vitest'
import type { FateTime, Refusals } from '../../../../../tunnel/src/contract.ts'
import { NO_FIGURES } from '../../../../../web/features/console/monitor/replica-metrics.ts'
import { explain } from '../../../../../web/features/console/reasons.ts'
import { createRefusalBook } from '../../../../../web/features/console/rejections/rejection-history.ts'
import { refusalsIn } from '../../../../../web/features/console/rejections/rejections.ts'

describe('What did not go through', () => {
  it.each([
    ['limited', undefined],
    ['limited', 'limited'],
    ['limited', 'shed'],
    ['filtered', 'empty'],
    ['filtered', 'duplicate'],
    ['filtered', 'next-noise'],
    ['filtered', 'web-crawlers'],
    ['declined', undefined],
    ['aborted', undefined],
    ['expired', undefined],
    ['purged', undefined],
    ['refused', 'dsn-unknown'],
  ] as const)('is explained, with what to do, when it was %s (%s)', (answer, reason) => {
    const explained = explain(answer, reason)
    expect(explained?.sentence).toMatch(/\w.*\.$/)
    expect(explained?.fix).toMatch(/\w.*\.$/)
  })

  it('is not explained by what no reason is, and what went through needs none', () => {
    expect(explain('refused', 'constructor')).toBeUndefined()
    expect(explain('delivered', undefined)).toBeUndefined()
  })

  it('is counted by fate and reason over all projects, what was lost after waiting too, the most frequent first', () => {
    const category = 'error'
    const refusals = refusalsIn({
      ...NO_FIGURES,
      answers: [
        { answer: 'delivered', reason: '', project: 'p/1', category, count: 9 },
        { answer: 'limited', reason: 'shed', project: 'p/1', category, count: 1 },
        { answer: 'limited', reason: 'shed', project: 'p/2', category, count: 2 },
        { answer: 'declined', reason: '', project: 'p/1', category, count: 1 },
      ],
      ends: [
        { end: 'delivered', project: 'p/1', count: 9 },
        { end: 'declined', project: 'p/2', count: 2 },
        { end: 'expired', project: 'p/1', count: 7 },
      ],
    })
    expect(refusals).toEqual([
      { stage: 'waited', fate: 'expired', reason: '', count: 7, projects: ['p/1'] },
      { stage: 'answered', fate: 'limited', reason: 'shed', count: 3, projects: ['p/1', 'p/2'] },
      { stage: 'waited', fate: 'declined', reason: '', count: 2, projects: ['p/2'] },
      { stage: 'answered', fate: 'declined', reason: '', count: 1, projects: ['p/1'] },
    ])
  })

  it('stays known when the replica that has refused it tells no more', () => {
    const sample = { causes: [], request: 'POST /monitoring', headers: [] }
    const answered = { stage: 'answered' } as const
    const tell = (code: string, first: number, last: number): Refusals => ({
      refusals: [{ ...sample, code, last }],
      times: [{ ...answered, fate: 'refused', reason: code, first, last }],
      settings: { [code]: [{ name: 'MAX_ITEMS', value: String(last) }] },
    })
    const book = createRefusalBook()
    book.note([tell('too-many-items', 10, 20)])
    book.note([])
    const { refusals, times, settings } = book.note([
      tell('too-many-items', 30, 40),
      tell('dsn-unknown', 1, 2),
    ])
    expect(refusals).toMatchObject([
      { code: 'too-many-items', last: 40 },
      { code: 'dsn-unknown', last: 2 },
    ])
    expect(times).toEqual<FateTime[]>([
      { ...answered, fate: 'refused', reason: 'too-many-items', first: 10, last: 40 },
      { ...answered, fate: 'refused', reason: 'dsn-unknown', first: 1, last: 2 },
    ])
    expect(settings['too-many-items']).toEqual([{ name: 'MAX_ITEMS', value: '40' }]) // as it is now
  })
})
