/** Bounds of the snapshots in the SQLite file of a spool. */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SNAPSHOT_STEPS, type SnapshotRow } from '../../../tunnel/src/pipeline/shared-state.ts'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { MAX_SNAPSHOT_ROWS } from '../../../tunnel/src/store/sqlite/shared-tables.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { PLENTY } from '../../support/spool/entries.ts'
import { snapshotRow } from '../../support/spool/snapshot-guarantees.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const HOUR = 60 * 60_000
const WEEK = 7 * 24 * HOUR
const START = Date.UTC(2026, 10, 1)
const MAX_ROWS_OF_REPLICA = 413

describe('Snapshots in a SQLite file', () => {
  let scope: AsyncDisposableStack
  let file: string
  let spool: Spool

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    file = join(scope.use(await makeMemoryFolder()).path, 'spool.db')
    spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close().catch(() => undefined)) // a test may have closed it
  })

  afterEach(() => scope.disposeAsync())

  const countRows = () => {
    using db = new DatabaseSync(file, { timeout: 10_000 })
    return Number(db.prepare('SELECT count(*) AS rows FROM history').get()?.rows)
  }

  it('keeps the rows of two replicas within their bound for three weeks', async () => {
    const replicas = ['replica-1', 'replica-2']
    for (let hour = START; hour < START + 3 * WEEK; hour += HOUR)
      await spool.state.snapshots.add(replicas.flatMap((replica) => rowsOfHour(hour, replica)))
    expect(countRows()).toBeLessThanOrEqual(2 * MAX_ROWS_OF_REPLICA)
    for (const { step, keepMs } of SNAPSHOT_STEPS) {
      const times = (await spool.state.snapshots.read(step, 0)).map(({ time }) => time)
      expect(Math.max(...times)).toBe(START + 3 * WEEK - step)
      expect(Math.min(...times)).toBe(START + 3 * WEEK - step - keepMs)
    }
    await spool.close() // moves the log into the file
    expect(statSync(file).size).toBeLessThan(8 * 1024 * 1024)
  })

  it('keeps its rows when a clock is ahead for a while, and then drops old ones again', async () => {
    const add = (hour: number) => spool.state.snapshots.add([snapshotRow({ time: START + hour * HOUR })])
    for (let hour = 0; hour < 10; hour++) await add(hour)
    await add(1_000)
    const hours = async () =>
      (await spool.state.snapshots.read(HOUR, 0))
        .map(({ time }) => (time - START) / HOUR)
        .toSorted((a, b) => a - b)
    expect(await hours()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1_000])
    for (let hour = 10; hour < 200; hour++) await add(hour)
    expect(await hours()).toEqual([...Array.from({ length: 171 }, (_, i) => 29 + i), 1_000])
  })

  it('drops the oldest rows of too many replicas', async () => {
    for (let n = 0; n < 6; n++)
      await spool.state.snapshots.add(
        Array.from({ length: 2_000 }, (_, i) => snapshotRow({ time: START + n, replica: `replica-${i}` })),
      )
    expect(countRows()).toBe(MAX_SNAPSHOT_ROWS)
    expect(Math.min(...(await spool.state.snapshots.read(HOUR, 0)).map(({ time }) => time))).toBe(START + 1)
  })
})

function rowsOfHour(hour: number, replica: string): SnapshotRow[] {
  const data = JSON.stringify({ outcomes: { delivered: hour } }).padEnd(600)
  return SNAPSHOT_STEPS.flatMap(({ step }) =>
    Array.from({ length: HOUR / step }, (_, i) => ({ step, time: hour + i * step, replica, data })),
  )
}
