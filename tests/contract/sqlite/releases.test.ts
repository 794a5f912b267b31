/**
 * Two releases share one SQLite file during a deploy, and after a rollback. A schema change that is not additive fails here: a new version
 * number, a missing or renamed column, table or index, a column that has to be filled, a trigger in the file.
 */

import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { PLENTY } from '../../support/spool/entries.ts'
import { bytesOf, keysOf, putOne, takeAll } from '../../support/spool/operations.ts'
import { PreviousRelease, writePreviousFile } from '../../support/spool/previous-release.ts'
import { snapshotRow } from '../../support/spool/snapshot-guarantees.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const STORED = 3 // entries of the fixture
const NETWORK = '198.51.100.0'

describe('A file of the previous release', () => {
  let scope: AsyncDisposableStack
  let file: string

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    file = join(scope.use(await makeMemoryFolder()).path, 'spool.db')
    writePreviousFile(file)
  })

  afterEach(() => scope.disposeAsync())

  const openThis = async () => {
    const spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close())
    return spool
  }
  const openPrevious = () => {
    const release = new PreviousRelease(file)
    scope.defer(() => release.close())
    return release
  }

  it('keeps its entries, bodies and totals when this release opens it', async () => {
    const spool = await openThis()
    expect(await spool.totals()).toMatchObject({ envelopes: STORED, bytes: 1_888, oldest: 1_700_000_000_001 })
    const leases = await takeAll(spool, STORED)
    expect(leases.map(({ receipt }) => receipt)).toEqual(['receipt-1', 'receipt-3', 'receipt-2'])
    expect(leases[1]).toMatchObject({ received: 1_700_000_000_003, resent: expect.any(Number) })
    for (const lease of leases)
      expect(String(await bytesOf(await spool.read(lease)))).toContain('stored by the previous release')
    expect(totalsIn(file)).toEqual(countedIn(file))
    const ended = await spool.entries.list({}, { limit: 9 })
    expect(ended.map(({ receipt, state }) => `${receipt} ${state}`).toSorted()).toEqual([
      'receipt-4 declined',
      'receipt-5 kept',
    ])
    for (const each of ended)
      expect(String(await bytesOf(await spool.entries.read(each)))).toContain(
        'stored by the previous release',
      )
    expect((await spool.entries.resend({}, 9)).entries).toHaveLength(2)
  })

  it.each([
    ['is open in both, as during a deploy', false],
    ['is opened again by the previous release, as after a rollback', true],
  ])('is read and written by both releases when it %s', async (_, isRollback) => {
    const deployed = openPrevious()
    const spool = await openThis()
    expect(await spool.state.put('a', '1', 0)).toBe(true)
    expect(await spool.state.get('a')).toEqual({ value: '1', revision: 1 })
    await spool.state.snapshots.add([snapshotRow()])
    expect(await spool.state.snapshots.read(snapshotRow().step, 0)).toHaveLength(1)
    const previous = isRollback ? openPrevious() : deployed
    const { entry, body } = await putOne(spool, { network: NETWORK })
    const delivered = previous.deliverAll()
    expect(delivered.size).toBe(STORED + 1)
    expect(delivered.get(entry.key)).toEqual(body)
    expect(await spool.totals()).toMatchObject({ envelopes: 0, bytes: 0, partitions: [] })

    const late = { ...entry, key: 'f'.repeat(32) }
    previous.put(late, body)
    await putOne(spool, { network: NETWORK, category: 'replay' })
    expect(totalsIn(file)).toEqual(countedIn(file))
    const leases = await takeAll(spool, 2)
    expect(keysOf(leases)).toContain(late.key)
    for (const lease of leases) expect(await spool.finish(lease)).toBe(true)
    expect(totalsIn(file)).toEqual([])
  })

  it('can be opened by the previous release after a rollback when this release has created it', async () => {
    const created = join(dirname(file), 'created', 'spool.db')
    mkdirSync(dirname(created))
    const spool = await openSqliteSpool(created, { ...PLENTY, kept: { bytes: 10_000_000, ageMs: 3_600_000 } })
    const { entry, body } = await putOne(spool)
    for (const lease of await takeAll(spool, 1)) await spool.finish(lease, { state: 'kept' })
    const pending = await putOne(spool)
    await spool.close()
    const previous = new PreviousRelease(created)
    scope.defer(() => previous.close())
    expect(previous.kept()).toEqual(new Map([[entry.key, body]]))
    expect(previous.deliverAll()).toEqual(new Map([[pending.entry.key, pending.body]]))
  })
})

/** Reads the totals of pending entries, which both releases keep. */
function totalsIn(file: string): unknown[] {
  const ofPending = `kind IN ('all', 'lane', 'share', 'network')`
  return query(
    file,
    `SELECT kind, name, category, envelopes, bytes FROM totals WHERE ${ofPending} ORDER BY 1, 2, 3`,
  )
}

/** Counts the entries as the totals should. */
function countedIn(file: string): unknown[] {
  const count = (kind: string, name: string, category: string, where = 'true') =>
    `SELECT '${kind}' AS kind, ${name} AS name, ${category} AS category, count(*) AS envelopes, sum(bytes) AS bytes
     FROM envelopes WHERE ${where} GROUP BY 2, 3`
  const totals = [
    count('all', "''", "''"),
    count('lane', 'project', 'category'),
    count('share', 'project', "''"),
    count('network', 'network', "''", "network <> ''"),
  ]
  return query(file, `${totals.join(' UNION ALL ')} ORDER BY 1, 2, 3`)
}

function query(file: string, sql: string): unknown[] {
  using db = new DatabaseSync(file, { timeout: 10_000 })
  return db.prepare(sql).all()
}
