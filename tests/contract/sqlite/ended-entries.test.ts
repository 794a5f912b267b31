/** Ended entries in the SQLite file of a spool: their bounds, their files, other releases, kills and a full disk. */

import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Ending, Spool, SpoolBounds } from '../../../tunnel/src/pipeline/spool.ts'
import { divideSpace } from '../../../tunnel/src/store/sqlite/space.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { SqliteStore } from '../../../tunnel/src/store/sqlite/sqlite-store.ts'
import { NODE } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { requires } from '../../support/requirements.ts'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { LARGE_BYTES, PLENTY, spoolEntryOf } from '../../support/spool/entries.ts'
import { bytesOf, inPieces, keysOf, plain, putOne, store, takeAll } from '../../support/spool/operations.ts'
import { PreviousRelease } from '../../support/spool/previous-release.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const DECLINED: Ending = { state: 'declined', status: 400, answer: 'no' }
const PAGE = { limit: 100 }
const MIB = 1024 * 1024
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const KILLS = 8
const AT_A_TIME = 32
const MOVED = 30
const ENDED = 80 // more than fit into the write-ahead log

describe('Ended entries in a SQLite file', () => {
  let scope: AsyncDisposableStack
  let folder: string
  let file: string

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    folder = scope.use(await makeMemoryFolder()).path
    file = join(folder, 'spool.db')
  })

  afterEach(() => scope.disposeAsync())

  const open = async (bounds: Partial<SpoolBounds> = {}) => {
    const spool = await openSqliteSpool(file, { ...PLENTY, ...bounds })
    scope.defer(() => spool.close())
    return spool
  }
  const pendingFiles = () => readdirSync(join(folder, 'bodies'))
  const endedFiles = () => readdirSync(join(folder, 'entries'))
  const walBytes = () => statSync(`${file}-wal`).size
  const change = (sql: string) => {
    using db = new DatabaseSync(file, { timeout: 10_000 })
    db.exec(sql)
  }
  const query = (sql: string) => {
    using db = new DatabaseSync(file, { timeout: 10_000 })
    return db.prepare(sql).all()
  }
  const decline = async (spool: Spool, bytes: number, many = 1, network = '') => {
    for (let n = 0; n < many; n++) await store(spool, { bytes, network })
    for (const lease of await takeAll(spool, many)) expect(await spool.finish(lease, DECLINED)).toBe(true)
  }

  it('move their files between two folders, and leave none behind', async () => {
    const spool = await open()
    await decline(spool, LARGE_BYTES)
    expect([pendingFiles().length, endedFiles().length]).toEqual([0, 1])
    await spool.entries.resend({}, 1)
    expect([pendingFiles().length, endedFiles().length]).toEqual([1, 0])
    const [lease] = await takeAll(spool, 1)
    expect(lease && (await spool.finish(lease))).toBe(true)
    expect([pendingFiles().length, endedFiles().length]).toEqual([0, 0])
    expect(query('SELECT * FROM totals')).toEqual([])
  })

  it('have no file of a transaction that failed, or of a killed process', async () => {
    await (await open()).close()
    const name = 'f'.repeat(32)
    writeFileSync(join(folder, 'bodies', name), 'body')
    const store = new SqliteStore(file, { ...PLENTY, ...divideSpace(PLENTY.bytes, folder) }, 'id')
    const fail = () => {
      store.files.keep(name)
      throw new Error('the disk fails')
    }
    expect(() => store.commit(fail)).toThrow('the disk fails')
    store.close()
    expect(endedFiles()).toEqual([])
    writeFileSync(join(folder, 'entries', name), 'a file without a row')
    const spool = await open()
    await decline(spool, LARGE_BYTES)
    expect(endedFiles()).toHaveLength(1)
  })

  it('keep the bodies of a transaction whose former files cannot be removed', async () => {
    await (await open()).close()
    const name = 'f'.repeat(32)
    writeFileSync(join(folder, 'bodies', name), 'body')
    const store = new SqliteStore(file, { ...PLENTY, ...divideSpace(PLENTY.bytes, folder) }, 'id')
    mkdirSync(join(folder, 'entries', 'folder')) // is not removed like a file
    store.commit(() => {
      store.files.keep(name)
      store.files.remove(join(folder, 'entries', 'folder'))
    })
    store.close()
    expect(endedFiles().sort()).toEqual([name, 'folder'].sort())
  })

  it('end together without making the write-ahead log long', async () => {
    const spool = await open()
    for (let n = 0; n < ENDED; n++) await store(spool, { bytes: 900_000 })
    const leases = await takeAll(spool, ENDED)
    await expect.poll(() => walBytes(), { timeout: 20_000 }).toBeLessThan(17 * MIB)
    const ended = Promise.all(leases.map((lease) => spool.finish(lease, DECLINED)))
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    let longest = 0
    for (; !isOver; await nextTurn()) longest = Math.max(longest, walBytes())
    expect(await ended).not.toContain(false)
    expect(longest).toBeLessThan(40 * MIB)
  })

  it('are removed after a week, with their files', async () => {
    const spool = await open()
    await decline(spool, LARGE_BYTES)
    await decline(spool, 100)
    change(`UPDATE entries SET ended = ended - ${6 * DAY_MS}`)
    await spool.expire(0)
    expect(await spool.entries.list({}, PAGE)).toHaveLength(2)
    change(`UPDATE entries SET ended = ended - ${DAY_MS + 1} WHERE file IS NOT NULL`)
    await spool.expire(0)
    expect(await spool.entries.list({}, PAGE)).toMatchObject([{ bytes: 100 }])
    expect(endedFiles()).toEqual([])
  })

  it('are removed after their time when they are kept, and after 30 days when nothing is kept any more', async () => {
    const kept = { bytes: 64 * MIB, ageMs: HOUR_MS }
    const spool = await open({ kept })
    const keep = async (bytes: number) => {
      const { entry, body } = await putOne(spool, { bytes })
      for (const lease of await takeAll(spool, 1)) await spool.finish(lease)
      return spool.entries.keep(entry, inPieces(body), { state: 'kept' })
    }
    expect(await keep(LARGE_BYTES)).toBe('stored')
    change(`UPDATE entries SET ended = ended - ${HOUR_MS + 1}`)
    expect(await keep(100)).toBe('stored')
    expect(await spool.entries.list({}, PAGE)).toMatchObject([{ bytes: 100 }])
    expect(endedFiles()).toEqual([])
    const later = await open() // the other replica still keeps its entries
    change(`UPDATE entries SET ended = ended - ${HOUR_MS + 1}`)
    await later.expire(0)
    expect(await later.entries.list({}, PAGE)).toHaveLength(1)
    change(`UPDATE entries SET ended = ended - ${30 * DAY_MS}`)
    await later.expire(0)
    expect(await later.entries.list({}, PAGE)).toEqual([])
    expect(query('SELECT * FROM totals')).toEqual([])
  })

  it('leave no file of a body for which their space has no room', async () => {
    const spool = await open({ bytes: 64 * MIB, addressShare: 0.05 })
    const body = Buffer.alloc(4 * MIB, 'a')
    const entry = await spoolEntryOf(body, { network: '198.51.100.9' })
    expect(await spool.entries.keep(entry, inPieces(body), DECLINED)).toBe('too-large')
    expect(await spool.entries.list({}, PAGE)).toMatchObject([{ key: entry.key, isStored: false }])
    expect(endedFiles()).toEqual([])
  })

  it('keep their files across restarts, and lose them to pending entries that need the room', async () => {
    const spool = await open({ bytes: 64 * MIB })
    await decline(spool, LARGE_BYTES, 3)
    await spool.close()
    const again = await open({ bytes: 64 * MIB })
    expect(endedFiles()).toHaveLength(3)
    let isFull = false
    while (!isFull) isFull = (await putOne(again, { bytes: 1_000_000 })).result.kind === 'full'
    while ((await putOne(again, { bytes: 10_000 })).result.kind !== 'full');
    expect(endedFiles()).toEqual([])
    expect(await again.entries.list({}, PAGE)).toEqual([])
    expect(await again.entries.resend({}, 10)).toMatchObject({ entries: [], isOver: true })
  })

  it('are found by their event while they are pending, some megabytes in one step', async () => {
    const spool = await open()
    const event = 'fc6d8c0c43fc4630ad850ee518f1b9d0'
    for (let n = 0; n < 12; n++) await store(spool, { bytes: 900_000 })
    const last = await store(spool, { bytes: 900_000, eventId: event })
    const direct = new SqliteStore(file, { ...PLENTY, ...divideSpace(PLENTY.bytes, folder) }, 'id')
    const step = direct.admin.findEvent(event, 0)
    direct.close()
    expect(step).toEqual({ found: [], last: 5 })
    expect(keysOf(await spool.list({ eventId: event, order: 'newest', limit: 9 }))).toEqual([last.key])
  })

  it('stay when the share of their network is used up, until there is room', async () => {
    const spool = await open({ bytes: 64 * MIB, addressShare: 0.1 })
    const network = '198.51.100.7'
    await decline(spool, 100_000, 1, network)
    while ((await putOne(spool, { bytes: 1_000_000, network })).result.kind !== 'full');
    while ((await putOne(spool, { bytes: 90_000, network })).result.kind !== 'full');
    const { after, ...step } = await spool.entries.resend({}, 10)
    expect(step).toEqual({ entries: [], isOver: false })
    expect(await spool.entries.resend({}, 10, after)).toMatchObject({ entries: [], isOver: true })
    await spool.purge({})
    expect((await spool.entries.resend({}, 10)).entries).toHaveLength(1)
  })

  it('do not hold up others when they have no room', async () => {
    const spool = await open({ bytes: 64 * MIB, addressShare: 0.1 })
    const network = '198.51.100.7'
    await decline(spool, 100_000, 3, network)
    await decline(spool, 100_000)
    while ((await putOne(spool, { bytes: 90_000, network })).result.kind !== 'full');
    expect((await spool.entries.resend({}, 1)).entries).toHaveLength(1)
  })

  it('are removed by a resend when their file is lost', async () => {
    const spool = await open()
    await decline(spool, LARGE_BYTES)
    for (const name of endedFiles()) rmSync(join(folder, 'entries', name))
    expect((await spool.entries.resend({}, 10)).entries).toEqual([])
    expect(await spool.entries.list({}, PAGE)).toEqual([])
    expect((await spool.totals()).envelopes).toBe(0)
  })

  it('lose nothing to the previous release', async () => {
    const spool = await open({ kept: { bytes: 64 * MIB, ageMs: DAY_MS } })
    await decline(spool, LARGE_BYTES)
    await decline(spool, 100)
    const { entry, body } = await putOne(spool, { bytes: LARGE_BYTES })
    for (const lease of await takeAll(spool, 1)) await spool.finish(lease, { state: 'kept' })
    const pending = await store(spool)
    await spool.close()

    const previous = new PreviousRelease(file)
    previous.removeOrphans()
    expect([...previous.deliverAll().keys()]).toEqual([pending.key])
    previous.put({ ...pending, key: 'f'.repeat(32) }, body)
    previous.close()

    const again = await open({ kept: { bytes: 64 * MIB, ageMs: DAY_MS } })
    const found = await again.entries.list({}, PAGE)
    expect(found.map(({ isStored }) => isStored)).toEqual([true, true, true])
    const [kept] = found
    expect(kept && body.equals(await bytesOf(await again.entries.read(kept)))).toBe(true)
    expect(kept && plain(kept)).toEqual(entry)
    expect(keysOf((await again.entries.resend({}, 10)).entries)).toHaveLength(3)
    await takeAll(again, 4)
  })

  it('are delivered by the previous release after a resend, and do not expire there at once', async () => {
    const spool = await open()
    const { entry, body } = await putOne(spool, { received: Date.now() - DAY_MS })
    for (const lease of await takeAll(spool, 1)) await spool.finish(lease, DECLINED)
    await spool.entries.resend({}, 1)
    const previous = new PreviousRelease(file)
    scope.defer(() => previous.close())
    expect(previous.expire(Date.now() - HOUR_MS)).toEqual([])
    expect(previous.deliverAll()).toEqual(new Map([[entry.key, body]]))
    expect(await spool.totals()).toMatchObject({ envelopes: 0, bytes: 0, partitions: [] })
  })

  it(`are in one of the two tables, whole, after ${KILLS} kills`, async () => {
    const spool = await open()
    const bodies = new Map<string, Buffer>()
    for (let n = 0; n < MOVED; n++) {
      const { entry, body } = await putOne(spool, { bytes: n % 3 ? 1_000 : LARGE_BYTES })
      bodies.set(entry.key, body)
    }
    await spool.close()
    for (let kill = 0; kill < KILLS; kill++) {
      change('UPDATE envelopes SET due = 0') // the leases of a killed process
      const moving = startProgram('The mover', NODE, ['tests/support/spool/mover-process.ts', file], {})
      await moving.line(() => moving.stdout.length > 1, 30_000)
      await sleep(Math.random() * 50)
      await moving.kill()
    }
    const again = await open()
    const pending = await again.list({ order: 'oldest', limit: MOVED })
    const ended = await again.entries.list({}, { limit: MOVED })
    expect(keysOf([...pending, ...ended]).sort()).toEqual([...bodies.keys()].sort())
    for (const each of pending)
      expect(bodies.get(each.key)?.equals(await bytesOf(await again.read(each)))).toBe(true)
    for (const each of ended)
      expect(bodies.get(each.key)?.equals(await bytesOf(await again.entries.read(each)))).toBe(true)
    expect(pendingFiles()).toHaveLength(pending.filter((each) => each.file !== undefined).length)
    expect(endedFiles()).toHaveLength(ended.filter((each) => each.file !== undefined).length)
  })
})

describe('Ended entries on a full disk', requires('mount'), () => {
  it.each([3_000, LARGE_BYTES])('of %i bytes give way to envelopes that have to be stored', async (bytes) => {
    await using disk = await mountSmallDisk(60)
    const kept = { bytes: 1024 * MIB, ageMs: DAY_MS }
    const spool = await openSqliteSpool(join(disk.path, 'spool.db'), { ...PLENTY, bytes: 25 * MIB, kept })
    try {
      const { entry, body } = await putOne(spool, { bytes })
      for (const lease of await takeAll(spool, 1)) await spool.finish(lease)
      const count = async () => (await spool.entries.count({})).entries
      let before = -1
      const keep = (n: number) => {
        const one = { ...entry, key: n.toString(16).padStart(32, '0') }
        return spool.entries.keep(one, inPieces(body), { state: 'kept' }).catch(() => undefined) // a body in a file has no room
      }
      for (let n = 0; before < (await count()); n += AT_A_TIME) {
        before = await count()
        await Promise.all(Array.from({ length: AT_A_TIME }, (_, i) => keep(n + i)))
      }
      disk.fill()
      before = await count()
      for (let n = 0; n < 70; n++) await store(spool, { bytes: 200_000 })
      expect(await count()).toBeLessThan(before)
      for (const lease of await takeAll(spool, 70)) expect(await spool.finish(lease, DECLINED)).toBe(true)
      expect((await spool.totals()).envelopes).toBe(0)
    } finally {
      await spool.close()
    }
  })

  it('do not stay while the space for delivery is missing', async () => {
    await using disk = await mountSmallDisk(60)
    const file = join(disk.path, 'spool.db')
    const spool = await openSqliteSpool(file, { ...PLENTY, bytes: 25 * MIB })
    try {
      for (let n = 0; n < 20; n++) await store(spool, { bytes: 200_000 })
      for (const lease of await takeAll(spool, 19)) await spool.finish(lease) // frees pages of the file
      writeFileSync(join(disk.path, 'spare'), Buffer.alloc(MIB))
      disk.fill()
      for (const name of [`${file}-reserve`, join(disk.path, 'spare')]) rmSync(name)
      disk.fill()
      for (const lease of await takeAll(spool, 1)) expect(await spool.finish(lease, DECLINED)).toBe(true)
      expect(await spool.entries.list({}, PAGE)).toEqual([])
    } finally {
      await spool.close()
    }
  })
})
