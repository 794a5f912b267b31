/** Guarantees of every store of the history. */

import { describe, expect, it } from 'vitest'
import type { HistoryRow } from '../../../tunnel/src/telemetry/history.ts'
import type { Store } from './guarantees.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Row of the last full hour, so that no store finds it too old. */
export function historyRow(parts: Partial<HistoryRow> = {}): HistoryRow {
  const time = Math.floor(Date.now() / HOUR) * HOUR
  return { step: HOUR, time, replica: 'web-1.example-a1b2c3', data: '{"bytes":1}', ...parts }
}

export function historyPromises(current: () => { store: Store }): void {
  const another = async () => (await current().store.spool()).history

  describe('keeps the history:', () => {
    it('returns nothing before a row is added', async () => {
      expect(await (await another()).read(HOUR, 0)).toEqual([])
    })

    it('returns the rows of all replicas to each, and after all were closed', async () => {
      const [first, second] = [await another(), await another()]
      const rows = [historyRow(), historyRow({ replica: 'other host/1' })]
      await Promise.all([first.add([rows[0] ?? historyRow()]), second.add([rows[1] ?? historyRow()])])
      expect(sorted(await first.read(HOUR, 0))).toEqual(sorted(rows))
      await current().store.closeAll()
      expect(sorted(await (await another()).read(HOUR, 0))).toEqual(sorted(rows))
    })

    it('replaces a row of the same step, time and replica', async () => {
      const history = await another()
      const row = historyRow()
      await history.add([row])
      const changed = { ...row, data: '{"bytes":2}' }
      await history.add([changed])
      expect(await history.read(HOUR, 0)).toEqual([changed])
    })

    it('returns only the rows of the step from the given time on', async () => {
      const history = await another()
      const [row, minute] = [historyRow(), historyRow({ step: MINUTE })]
      await history.add([row, historyRow({ time: row.time - HOUR }), minute])
      expect(await history.read(HOUR, row.time)).toEqual([row])
      expect(await history.read(MINUTE, 0)).toEqual([minute])
    })

    it('counts no row as an entry', async () => {
      const spool = await current().store.spool()
      await spool.history.add([historyRow()])
      expect(await spool.totals()).toMatchObject({ envelopes: 0, partitions: [] })
    })
  })
}

function sorted(rows: HistoryRow[]): HistoryRow[] {
  return rows.toSorted((a, b) => (a.replica < b.replica ? -1 : 1))
}
