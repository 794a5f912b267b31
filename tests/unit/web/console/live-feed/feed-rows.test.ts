/** Order, bounds and filter options of the rows of the live feed. */

import { describe, expect, it } from 'vitest'
import type { Receipt, SpoolOutcome } from '../../../../../contract/admin-api.ts'
import {
  type FeedEvent,
  type FeedNotice,
  FeedRows,
  MAX_ROWS,
} from '../../../../../web/features/console/live-feed/feed-rows.ts'

const receiptOf = (id: string, time: number): Receipt => ({
  ...{ id, time, items: [], bytes: 1, outcome: 'delivered', status: 200, duration_ms: 1, replica: 'live' },
})
const spooledOf = (id: string, time: number): Receipt => ({ ...receiptOf(id, time), outcome: 'spooled' })
const endOf = (receipt: string): SpoolOutcome => ({
  ...{
    receipt,
    final_outcome: 'delivered',
    time: 9,
    waited_ms: 1,
    project: 'p/1',
    category: 'error',
    replica: 'live',
  },
})
const many = () => Array.from({ length: MAX_ROWS }, (_, n) => receiptOf(`n${n}`, 1_000 + n))

const add = (rows: FeedRows, event: Partial<FeedEvent>) =>
  rows.add({ receipts: [], finalOutcomes: [], notices: [], ...event })
const idsOf = (rows: FeedRows) =>
  rows.all().map((row) => ('receipt' in row ? row.receipt.id : row.notice.kind))
const endsOf = (rows: FeedRows) =>
  rows.all().map((row) => 'receipt' in row && row.finalOutcome?.final_outcome)

describe('FeedRows', () => {
  it('lists a repeated receipt once', () => {
    const rows = new FeedRows()
    add(rows, { receipts: [receiptOf('a', 1), receiptOf('b', 2)] })
    add(rows, { receipts: [receiptOf('b', 2), receiptOf('c', 3), receiptOf('c', 3), receiptOf('a', 1)] })
    expect(idsOf(rows)).toEqual(['c', 'b', 'a'])
  })

  it('keeps the newest receipts in any order of arrival', () => {
    const rows = new FeedRows()
    add(rows, { receipts: many() })
    add(rows, { receipts: [receiptOf('old', 1), receiptOf('new', 1_000_000)] })
    const ids = idsOf(rows)
    expect([ids.length, ids[0], ids.at(-1), ids.includes('old')]).toEqual([MAX_ROWS, 'new', 'n1', false])
  })

  it('lists a gap below the receipt after it', () => {
    const rows = new FeedRows()
    const notice: FeedNotice = { kind: 'missed', replica: 'live', missed: 5, time: 7 }
    add(rows, { notices: [notice] })
    add(rows, { receipts: [receiptOf('after', 7)] })
    add(rows, { receipts: [receiptOf('before', 6)] })
    expect(idsOf(rows)).toEqual(['after', 'missed', 'before'])
  })

  it('adds the final outcome to a receipt, in whichever order both arrive', () => {
    const rows = new FeedRows()
    add(rows, { finalOutcomes: [endOf('early')] })
    add(rows, {
      receipts: [spooledOf('early', 3), spooledOf('with', 2), spooledOf('late', 1)],
      finalOutcomes: [endOf('with')],
    })
    expect(endsOf(rows)).toEqual(['delivered', 'delivered', undefined])
    add(rows, { finalOutcomes: [endOf('late')] })
    expect(endsOf(rows)).toEqual(['delivered', 'delivered', 'delivered'])
  })

  it('keeps the final outcome of a listed row when MAX_ROWS others follow', () => {
    const rows = new FeedRows()
    add(rows, { receipts: [spooledOf('first', 1)] })
    rows.all()
    add(rows, { finalOutcomes: [endOf('first')] })
    for (let n = 0; n < MAX_ROWS; n++) add(rows, { finalOutcomes: [endOf(`other ${n}`)] })
    expect(endsOf(rows)).toEqual(['delivered'])
  })

  it('returns the filter options of its receipts, and a new object only when they change', () => {
    const rows = new FeedRows()
    add(rows, { receipts: [{ ...receiptOf('first', 1), reason: 'dsn-unknown', project: 'p/1' }] })
    add(rows, {
      receipts: [{ ...receiptOf('second', 2), items: [{ type: 'session', bytes: 1 }], sdk: 'js/11' }],
    })
    const options = rows.filterOptions()
    expect(options).toEqual({ reason: ['dsn-unknown'], project: ['p/1'], type: ['session'], sdk: ['js/11'] })
    add(rows, { receipts: [{ ...receiptOf('newest', 1_000_000), reason: 'dsn-unknown' }] })
    expect(rows.filterOptions()).toBe(options)

    add(rows, { receipts: many() })
    expect(rows.filterOptions()).toEqual({ reason: ['dsn-unknown'], project: [], type: [], sdk: [] })
  })
})
