/** The list of the feed: what it shows of all that it is told, in which order, and by what it can be filtered. */

import { describe, expect, it } from 'vitest'
import type { Receipt, SpoolOutcome } from '../../../../../tunnel/src/contract.ts'
import {
  createRows,
  type Mark,
  MOST_ROWS,
  type Rows,
  type Told,
} from '../../../../../web/features/console/live-feed/rows.ts'

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
const many = () => Array.from({ length: MOST_ROWS }, (_, n) => receiptOf(`n${n}`, 1_000 + n))

const tell = (rows: Rows, told: Partial<Told>) => rows.takeIn({ receipts: [], ends: [], marks: [], ...told })
const idsOf = (rows: Rows) => rows.all().map((row) => ('receipt' in row ? row.receipt.id : row.mark.kind))
const endsOf = (rows: Rows) => rows.all().map((row) => 'receipt' in row && row.end?.final_outcome)

describe('The list of the feed', () => {
  it('shows a receipt that is told again once', () => {
    const rows = createRows()
    tell(rows, { receipts: [receiptOf('a', 1), receiptOf('b', 2)] })
    tell(rows, { receipts: [receiptOf('b', 2), receiptOf('c', 3), receiptOf('c', 3), receiptOf('a', 1)] })
    expect(idsOf(rows)).toEqual(['c', 'b', 'a'])
  })

  it('keeps the newest, whenever they come', () => {
    const rows = createRows()
    tell(rows, { receipts: many() })
    tell(rows, { receipts: [receiptOf('old', 1), receiptOf('new', 1_000_000)] })
    const ids = idsOf(rows)
    expect([ids.length, ids[0], ids.at(-1), ids.includes('old')]).toEqual([MOST_ROWS, 'new', 'n1', false])
  })

  it('shows what is missing below the receipt that came after it, in whatever pieces both are told', () => {
    const rows = createRows()
    const mark: Mark = { kind: 'missed', replica: 'live', missed: 5, time: 7 }
    tell(rows, { marks: [mark] })
    tell(rows, { receipts: [receiptOf('after', 7)] })
    tell(rows, { receipts: [receiptOf('before', 6)] })
    expect(idsOf(rows)).toEqual(['after', 'missed', 'before'])
  })

  it('says how waiting ended, whether that is told before the receipt, with it or after it', () => {
    const rows = createRows()
    tell(rows, { ends: [endOf('early')] })
    tell(rows, {
      receipts: [spooledOf('early', 3), spooledOf('with', 2), spooledOf('late', 1)],
      ends: [endOf('with')],
    })
    expect(endsOf(rows)).toEqual(['delivered', 'delivered', undefined])
    tell(rows, { ends: [endOf('late')] })
    expect(endsOf(rows)).toEqual(['delivered', 'delivered', 'delivered'])
  })

  it('forgets no end of a row that it shows, however many are told before anybody looks', () => {
    const rows = createRows()
    tell(rows, { receipts: [spooledOf('first', 1)] })
    rows.all()
    tell(rows, { ends: [endOf('first')] })
    for (let n = 0; n < MOST_ROWS; n++) tell(rows, { ends: [endOf(`other ${n}`)] })
    expect(endsOf(rows)).toEqual(['delivered'])
  })

  it('can be filtered by the values that its receipts have, by no others, and says so anew only where they change', () => {
    const rows = createRows()
    tell(rows, { receipts: [{ ...receiptOf('first', 1), reason: 'dsn-unknown', project: 'p/1' }] })
    tell(rows, {
      receipts: [{ ...receiptOf('second', 2), items: [{ type: 'session', bytes: 1 }], sdk: 'js/11' }],
    })
    const choices = rows.choices()
    expect(choices).toEqual({ reason: ['dsn-unknown'], project: ['p/1'], type: ['session'], sdk: ['js/11'] })
    tell(rows, { receipts: [{ ...receiptOf('newest', 1_000_000), reason: 'dsn-unknown' }] })
    expect(rows.choices()).toBe(choices)

    tell(rows, { receipts: many() })
    expect(rows.choices()).toEqual({ reason: ['dsn-unknown'], project: [], type: [], sdk: [] })
  })
})
