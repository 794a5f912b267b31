/** SQLite spool whose disk is full: pending entries are delivered without an operator, and the log stays short. */

import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, assert, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { Spool, SpoolBounds } from '../../../tunnel/src/pipeline/spool.ts'
import { endedFolderOf, pendingFolderOf } from '../../../tunnel/src/store/sqlite/body-files.ts'
import { defaultBound, divideSpace } from '../../../tunnel/src/store/sqlite/space.ts'
import { SpoolFile } from '../../../tunnel/src/store/sqlite/spool-file.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { requires } from '../../support/requirements.ts'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { ALL, inOne, LARGE_BYTES, LONG_MS, PLENTY, spoolEntryOf } from '../../support/spool/entries.ts'
import { putOne, store } from '../../support/spool/operations.ts'
import { snapshotRow } from '../../support/spool/snapshot-guarantees.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const MIB = 1024 * 1024
const HOUR_MS = 60 * 60 * 1000
const AT_A_TIME = 32

describe('A SQLite spool on a full disk', requires('mount'), () => {
  let scope: AsyncDisposableStack
  let disk: Awaited<ReturnType<typeof mountSmallDisk>>
  let file: string
  let spool: Spool

  const open = async (bytes: number, kept?: SpoolBounds['kept']) => {
    const opened = await openSqliteSpool(file, { ...PLENTY, bytes, ...(kept && { kept }) })
    scope.defer(() => opened.close())
    return opened
  }

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    disk = scope.use(await mountSmallDisk(50))
    file = join(disk.path, 'spool.db')
    spool = await open(25 * MIB)
  })

  afterEach(() => scope.disposeAsync())

  it('leases and removes all entries, rejects new ones, and accepts them again when there is space', async () => {
    for (let n = 0; n < 100; n++) await store(spool, { bytes: 3_000 })
    disk.fill()
    await expect(putUntilRefused(spool)).resolves.toMatch(/full/)
    const { envelopes } = await spool.totals()
    expect(await drain(spool)).toBe(envelopes)
    await expect(putOne(spool)).rejects.toThrow('the disk is full')
    await expect(spool.probe()).rejects.toThrow('the disk is full')
    await expect(spool.state.put('a', '1', 0)).rejects.toThrow('the disk is full')
    expect(await spool.state.get('a')).toMatchObject({ value: undefined })
    await expect(spool.state.snapshots.add([snapshotRow()])).rejects.toThrow('the disk is full')
    expect(await spool.state.snapshots.read(snapshotRow().step, 0)).toEqual([])
    expect(readdirSync(disk.path)).not.toContain('spool.db-reserve')
    await disk.free()
    await spool.probe()
    await store(spool)
    expect(readdirSync(disk.path)).toContain('spool.db-reserve')
  })

  it('leaves an entry pending whose only copy would be in the inbox', async () => {
    for (let n = 0; n < 100; n++) await store(spool, { bytes: 3_000 })
    await store(spool, { project: INBOX_DSN, bytes: 200_000 })
    disk.fill()
    await putUntilRefused(spool)
    expect(await drain(spool)).toBeGreaterThanOrEqual(100)
    disk.fill()
    const wanted = [{ project: INBOX_DSN, rateLimitedCategories: [] }]
    const [lease] = await spool.take(1, LONG_MS, wanted)
    assert(lease)
    await expect(spool.finish(lease, { state: 'kept', status: 200 })).rejects.toThrow('stays pending')
    expect(await spool.list({ entry: lease })).toHaveLength(1)
  })

  it('removes kept entries for pending ones, but not for bundles', async () => {
    const keeping = await open(25 * MIB, { bytes: 16 * MIB, ageMs: HOUR_MS })
    const keepOne = async () => {
      const body = randomBytes(3_000)
      await keeping.entries.keep(await spoolEntryOf(body), inOne(body), { state: 'kept', status: 200 })
    }
    for (let n = 0; n < 1_000; n += AT_A_TIME) await Promise.all(Array.from({ length: AT_A_TIME }, keepOne))
    const count = async () => (await keeping.entries.count({ states: ['kept'] })).entries
    const before = await count()
    await expect.poll(() => statSync(`${file}-wal`).size).toBe(0)
    disk.fill()
    const bundle = new Map([['errors-0123456789abcdef.js', Buffer.from('x'.repeat(200_000))]])
    await expect(keeping.state.bundles.write(bundle)).rejects.toThrow('full')
    expect(await count()).toBe(before)
    while ((await count()) === before) await store(keeping, { bytes: 100_000 })
  })

  it('opens again, and leases and removes all entries', async () => {
    for (let n = 0; n < 100; n++) await store(spool, { bytes: 3_000 })
    disk.fill()
    await spool.close()
    disk.fill()
    const again = await open(25 * MIB)
    expect(await drain(again)).toBe(100)
  })

  it('delivers all entries and accepts new ones when its bound exceeds the disk', async () => {
    const [first, second] = [await open(1024 * MIB), await open(1024 * MIB)]
    await Promise.all([first, second].map((each) => putUntilRefused(each)))
    const { envelopes } = await first.totals()
    expect(envelopes).toBeGreaterThan(5_000)
    expect(await drain(first)).toBe(envelopes)
    for (let n = 0; n < 1_000; n++) await store(second, { bytes: 3_000 })
  })

  it('delivers all entries when the disk has become full while another process read the file', async () => {
    const writers = [spool, await open(25 * MIB)]
    for (let n = 0; n < 400; n += AT_A_TIME)
      await Promise.all(Array.from({ length: AT_A_TIME }, () => store(spool, { bytes: 3_000 })))
    const reader = new DatabaseSync(file)
    scope.defer(() => reader.close())
    reader.exec('BEGIN; SELECT count(*) FROM envelopes')
    await Promise.all(writers.map((each) => putUntilRefused(each, { bytes: 700_000, atATime: 1 })))
    disk.fill()
    const { envelopes } = await spool.totals()
    let delivered = 0
    for (let n = 0; n < 300; n++) {
      const leases = await spool.take(1, LONG_MS, ALL).catch(() => [])
      for (const lease of leases) delivered += Number(await spool.finish(lease).catch(() => false))
    }
    reader.exec('COMMIT')
    // A replica that has waited a second for a reader rejects calls for a while when the log is busy. Its deliverer makes them again.
    await until(async () => {
      for (const lease of await spool.take(64, LONG_MS, ALL).catch(() => [])) {
        await until(() => spool.finish(lease).catch(() => false))
        delivered++
      }
      return delivered === envelopes
    })
  })

  it('leases and removes large entries that were attempted before', async () => {
    for (let n = 0; n < 30; n++) await store(spool, { bytes: 500_000 })
    for (let taken = 0; taken < 30; ) {
      const leases = await spool.take(64, LONG_MS, ALL)
      for (const lease of leases) await spool.postpone(lease, Date.now())
      taken += leases.length
    }
    disk.fill()
    expect(await drain(spool)).toBe(30)
  })

  it('has the same default bound when it is empty and when it has filled its part of the disk', async () => {
    await spool.close()
    const empty = await defaultBound(file)
    spool = await open(empty)
    for (let n = 0; n < 20; n++) await store(spool, { bytes: n % 2 === 0 ? 500_000 : LARGE_BYTES })
    expect(await defaultBound(file)).toBeGreaterThan(0.95 * empty)
    expect(await defaultBound(file)).toBeLessThanOrEqual(25 * MIB)
  })

  it('reports its free space and the length of its log', async () => {
    await store(spool)
    const { freeBytes = 0, walBytes } = (await spool.describe()).disk ?? {}
    expect(freeBytes).toBeGreaterThan(40 * MIB)
    expect(freeBytes).toBeLessThan(50 * MIB)
    expect(walBytes).toBe(statSync(`${file}-wal`).size)
    disk.fill()
    expect(await spool.describe()).toMatchObject({ disk: { freeBytes: 0 } })
  })
})

describe('The write-ahead log', () => {
  it('is moved into the file while there are no calls', async () => {
    await using scope = new AsyncDisposableStack()
    const file = join(scope.use(await makeFolder()).path, 'spool.db')
    const spool = await openSqliteSpool(file, { ...PLENTY, bytes: 64 * MIB }) // moved by a put beyond 4 MiB
    scope.defer(() => spool.close())
    for (let n = 0; n < 10; n++) await store(spool, { bytes: 200_000 })
    await expect.poll(() => statSync(`${file}-wal`).size).toBe(0)
  })

  it('is looked at again when the disk did not tell its size', async () => {
    await using scope = new AsyncDisposableStack()
    const { path } = scope.use(await makeFolder())
    const file = join(path, 'spool.db')
    for (const folder of [pendingFolderOf(file), endedFolderOf(file)]) mkdirSync(folder)
    const bounds = { ...PLENTY, ...divideSpace(64 * MIB, path) }
    const spoolFile = new SpoolFile({ file, bounds, newId: 'test' })
    scope.defer(() => spoolFile.close())
    renameSync(`${file}-wal`, `${file}-moved`)
    symlinkSync(`${file}-wal`, `${file}-wal`) // looking at it fails
    expect(spoolFile.idle()).toBe(false)
    renameSync(`${file}-moved`, `${file}-wal`)
    expect(spoolFile.idle()).toBe(true)
  })

  it('stays short while four writers put at full speed', async () => {
    await using scope = new AsyncDisposableStack()
    const { path } = scope.use(await makeFolder())
    const file = join(path, 'spool.db')
    const writers = await Promise.all(
      Array.from({ length: 4 }, () => openSqliteSpool(file, { ...PLENTY, bytes: 64 * MIB })),
    )
    for (const writer of writers) scope.defer(() => writer.close())
    let longest = 0
    await Promise.all(
      writers.map(async (writer) => {
        for (let put = 0; put < 800; put += AT_A_TIME) {
          await Promise.all(Array.from({ length: AT_A_TIME }, () => store(writer, { bytes: 10_000 })))
          longest = Math.max(longest, statSync(`${file}-wal`).size)
        }
      }),
    )
    expect((await writers[0]?.totals())?.bytes).toBeGreaterThan(30 * MIB)
    expect(longest).toBeLessThan(8 * MIB) // a sixteenth of the bound, and a transaction of each writer
  })
})

it('the spool rejects entries while another process keeps the log from being checkpointed', async () => {
  await using scope = new AsyncDisposableStack()
  const { path } = scope.use(await makeFolder())
  const file = join(path, 'spool.db')
  const spool = await openSqliteSpool(file, { ...PLENTY, bytes: 16 * MIB })
  scope.defer(() => spool.close())
  const reader = new DatabaseSync(file)
  scope.defer(() => reader.close())
  reader.exec('BEGIN; SELECT count(*) FROM envelopes')
  expect(await putUntilRefused(spool, { bytes: 30_000 })).toContain('another process reads the file')
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(MIB)
  expect(statSync(`${file}-wal`).size).toBeLessThan(4 * MIB)
  reader.exec('COMMIT')
  // After a long wait, a spool rejects puts for a while.
  await expect.poll(() => store(spool).then(() => 'stored', String)).toBe('stored')
  await expect.poll(() => statSync(`${file}-wal`).size).toBeLessThan(MIB)
})

/** Returns the error of the first put that is rejected. */
async function putUntilRefused(spool: Spool, { bytes = 3_000, atATime = AT_A_TIME } = {}): Promise<string> {
  for (;;) {
    const puts = Array.from({ length: atATime }, () => putOne(spool, { bytes }))
    for (const put of await Promise.allSettled(puts)) if (put.status === 'rejected') return String(put.reason)
  }
}

/** Returns the number of delivered entries. */
async function drain(spool: Spool): Promise<number> {
  for (let drained = 0; ; ) {
    const leases = await spool.take(64, LONG_MS, ALL)
    if (leases.length === 0) return drained
    const finished = await Promise.all(
      leases.map(async (lease) => {
        await spool.read(lease)
        return spool.finish(lease)
      }),
    )
    drained += finished.filter(Boolean).length
  }
}
