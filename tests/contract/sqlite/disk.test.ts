/** Files of the SQLite spool: their permissions, and no leftovers. */

import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Spool, SpoolBounds } from '../../../tunnel/src/pipeline/spool.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { inOne, LARGE_BYTES, PLENTY, spoolEntryOf } from '../../support/spool/entries.ts'
import { putOne, store, takeAll } from '../../support/spool/operations.ts'
import { withLog } from '../../support/spool/sqlite-spool.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const MIB = 1024 * 1024
const OF_ITS_OWN = 100_000 // the schema, empty pages, folders, locks

describe('The files of the SQLite spool', () => {
  let scope: AsyncDisposableStack
  let folder: string
  let spool: Spool

  const open = async (bounds: SpoolBounds = PLENTY) => {
    const opened = await openSqliteSpool(join(folder, 'spool.db'), withLog(bounds))
    scope.defer(() => opened.close())
    return opened
  }
  const onDisk = () =>
    readdirSync(folder, { recursive: true })
      .filter((name) => name !== 'spool.db-reserve') // tests/contract/sqlite/full-disk.test.ts
      .map((name) => statSync(join(folder, String(name))))
      .reduce((sum, { blocks }) => sum + blocks * 512, 0)
  const bodies = () => readdirSync(join(folder, 'bodies'))

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    folder = scope.use(await makeFolder()).path
    spool = await open()
  })

  afterEach(() => scope.disposeAsync())

  it('can be read by their owner only', async () => {
    await store(spool)
    await store(spool, { bytes: LARGE_BYTES })
    const all = readdirSync(folder, { recursive: true, withFileTypes: true })
    const open = all.filter((entry) => statSync(join(entry.parentPath, entry.name)).mode & 0o077)
    expect(open.map(({ name }) => name)).toEqual([])
  })

  it.each([
    ['tiny bodies', () => 50, 100],
    ['bodies of 3.3 KB', () => 3_300, 100],
    ['bodies of all sizes', (n: number) => (n * 797) % 6_000, 300],
    ['tiny bodies with the largest headers', () => 50, 28_000],
    ['bodies in files', () => LARGE_BYTES, 100],
  ])('stay within SPOOL_BYTES for %s', async (_, bytesOf, headerBytes) => {
    const small = await open({ ...PLENTY, bytes: 4 * MIB })
    const headers = ['referer', 'x'.repeat(headerBytes)]
    for (let n = 0, going = true; going; ) {
      const some = Array.from({ length: 32 }, () => putOne(small, { bytes: bytesOf(n++), headers }))
      going = (await Promise.all(some)).every(({ result }) => result.kind === 'stored')
    }
    const { bytes } = await small.totals()
    await small.close()
    await spool.close() // the last close empties the write-ahead log; two at the same time may each leave it to the other
    expect(bytes).toBeLessThanOrEqual(4 * MIB)
    expect(bytes).toBeGreaterThan(3 * MIB)
    expect(onDisk()).toBeLessThanOrEqual(4 * MIB + OF_ITS_OWN)
  })

  it('include a write-ahead log that is checkpointed while the spool is open', async () => {
    const logBytes = () => statSync(join(folder, 'spool.db-wal')).size
    for (let bytes = 0; bytes < 6 * MIB; bytes += 1_000_000) await store(spool, { bytes: 1_000_000 })
    await until(async () => logBytes() < 4 * MIB)
    expect(statSync(join(folder, 'spool.db')).size).toBeGreaterThan(4 * MIB)
  })

  it('contain no entry that purge returned, when the disk is full before all are deleted', async () => {
    const all = await Promise.all(Array.from({ length: 600 }, () => store(spool)))
    const other = new DatabaseSync(join(folder, 'spool.db'), { timeout: 5_000 })
    scope.defer(() => other.close())
    const last = all.at(-1)?.receipt
    other.exec(
      `CREATE TRIGGER full BEFORE DELETE ON envelopes WHEN old.receipt = '${last}' BEGIN SELECT RAISE(ABORT, 'no room'); END`,
    )
    const purged = await spool.purge({})
    const { envelopes } = await spool.totals()
    expect(envelopes).toBeGreaterThan(0)
    expect(purged.length + envelopes).toBe(600)
    await expect(spool.purge({})).rejects.toThrow('no room')
  })

  it('contain the other entries of a group commit completely when one insert fails', async () => {
    const other = new DatabaseSync(join(folder, 'spool.db'), { timeout: 5_000 })
    scope.defer(() => other.close())
    other.exec(
      `CREATE TRIGGER full BEFORE INSERT ON envelopes WHEN new.receipt = 'second' BEGIN SELECT RAISE(ABORT, 'no room'); END`,
    )
    const put = (receipt: string) => putOne(spool, { bytes: 100_000, receipt })
    const [first, second, third] = ['first', 'second', 'third'].map(put)
    await expect(second).rejects.toThrow('no room')
    const sent = (await Promise.all([first, third])).map((one) => one?.body)
    const leases = await takeAll(spool, 2)
    expect(await Promise.all(leases.map((lease) => spool.read(lease)))).toEqual(sent)
  })

  it('contain nothing of a body with a length other than announced', async () => {
    const entry = await spoolEntryOf(Buffer.alloc(1_000))
    for (const bytes of [999, 1_001])
      await expect(spool.put(entry, inOne(Buffer.alloc(bytes)), 0)).rejects.toThrow(
        `turned out to have ${bytes}`,
      )
    expect(await spool.totals()).toMatchObject({ envelopes: 0 })
  })

  it('are unchanged after a probe, which writes to the folder and to the log', async () => {
    const logBytes = () => statSync(join(folder, 'spool.db-wal')).size
    const [before, depth] = [logBytes(), await spool.totals()]
    await spool.probe()
    expect(logBytes()).toBeGreaterThan(before)
    expect(bodies()).toEqual([])
    expect(await spool.totals()).toEqual(depth)
    rmSync(join(folder, 'bodies'), { recursive: true })
    await expect(spool.probe()).rejects.toThrow('ENOENT')
  })

  it('include a file for each large body until it is finished', async () => {
    await store(spool, { bytes: LARGE_BYTES })
    await store(spool, { bytes: 1_000 })
    expect(bodies()).toHaveLength(1)
    for (const lease of await takeAll(spool, 2)) await spool.finish(lease)
    expect(bodies()).toEqual([])
  })

  it('contain no body of an entry that is expired, known, rejected or evicted', async () => {
    const { entry, body } = await putOne(spool, { bytes: LARGE_BYTES, category: 'replay' })
    expect(await spool.put(entry, inOne(body), 0)).toEqual({ kind: 'known' })
    const small = await open({ ...PLENTY, bytes: 2 * LARGE_BYTES })
    await store(small, { bytes: LARGE_BYTES - 5_000 })
    await store(small, { bytes: LARGE_BYTES - 10_000 })
    expect(bodies()).toHaveLength(2)
    expect((await putOne(small, { bytes: LARGE_BYTES })).result).toMatchObject({ kind: 'full' })
    expect(bodies()).toHaveLength(2)
    await spool.expire(Date.now() + 1)
    expect(bodies()).toEqual([])
  })

  it('contain nothing of a body that ends with an error', async () => {
    function* chunks() {
      yield Buffer.alloc(LARGE_BYTES)
      throw new Error('it does not unpack')
    }
    const entry = await spoolEntryOf(Buffer.alloc(2 * LARGE_BYTES))
    await expect(spool.put(entry, { chunks }, 0)).rejects.toThrow('it does not unpack')
    expect(bodies()).toEqual([])
    expect(await spool.totals()).toMatchObject({ envelopes: 0 })
  })

  it('contain no leftovers of a killed process after the next start', async () => {
    const kept = await store(spool, { bytes: LARGE_BYTES })
    const before = bodies()
    await spool.close()
    writeFileSync(join(folder, 'bodies', 'ffffffffffffffffffffffffffffffff'), 'a file without a row')
    writeFileSync(join(folder, 'bodies', `${kept.key}.0-half-written`), 'half')
    const again = await open()
    await expect.poll(bodies).toEqual(before)
    expect(await takeAll(again, 1)).toHaveLength(1)
  })
})
