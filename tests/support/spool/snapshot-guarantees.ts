/** Guarantees of every store of snapshots. */

import { describe, expect, it } from 'vitest'
import type { SnapshotRow } from '../../../tunnel/src/pipeline/shared-state.ts'
import type { Store } from './guarantees.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Row of the last full hour, so that no store finds it too old. */
export function snapshotRow(parts: Partial<SnapshotRow> = {}): SnapshotRow {
  const time = Math.floor(Date.now() / HOUR) * HOUR
  return { step: HOUR, time, replica: 'web-1.example-a1b2c3', data: '{"bytes":1}', ...parts }
}

export function snapshotPromises(current: () => { store: Store }): void {
  const another = async () => (await current().store.spool()).state.snapshots

  describe('keeps the snapshots:', () => {
    it('returns nothing before a row is added', async () => {
      expect(await (await another()).read(HOUR, 0)).toEqual([])
    })

    it('returns the rows of all replicas to each, and after all were closed', async () => {
      const [first, second] = [await another(), await another()]
      const rows = [snapshotRow(), snapshotRow({ replica: 'other host/1' })]
      await Promise.all([first.add([rows[0] ?? snapshotRow()]), second.add([rows[1] ?? snapshotRow()])])
      expect(sorted(await first.read(HOUR, 0))).toEqual(sorted(rows))
      await current().store.closeAll()
      expect(sorted(await (await another()).read(HOUR, 0))).toEqual(sorted(rows))
    })

    it('replaces a row of the same step, time and replica', async () => {
      const snapshots = await another()
      const row = snapshotRow()
      await snapshots.add([row])
      const changed = { ...row, data: '{"bytes":2}' }
      await snapshots.add([changed])
      expect(await snapshots.read(HOUR, 0)).toEqual([changed])
    })

    it('returns only the rows of the step from the given time on', async () => {
      const snapshots = await another()
      const [row, minute] = [snapshotRow(), snapshotRow({ step: MINUTE })]
      await snapshots.add([row, snapshotRow({ time: row.time - HOUR }), minute])
      expect(await snapshots.read(HOUR, row.time)).toEqual([row])
      expect(await snapshots.read(MINUTE, 0)).toEqual([minute])
    })

    it('counts no row as an entry', async () => {
      const spool = await current().store.spool()
      await spool.state.snapshots.add([snapshotRow()])
      expect(await spool.totals()).toMatchObject({ envelopes: 0, partitions: [] })
    })
  })
}

function sorted(rows: SnapshotRow[]): SnapshotRow[] {
  return rows.toSorted((a, b) => (a.replica < b.replica ? -1 : 1))
}
