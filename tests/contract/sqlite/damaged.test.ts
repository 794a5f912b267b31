/** Spool file that SQLite cannot read: it is renamed, unless another replica has it open. */

import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { markDamaged } from '../../../tunnel/src/store/sqlite/damaged-files.ts'
import { OwnerLock } from '../../../tunnel/src/store/sqlite/locks.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { ALL, LARGE_BYTES, OTHER_PROJECT, PLENTY } from '../../support/spool/entries.ts'
import { store } from '../../support/spool/operations.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const PAGE = 4096
const GARBAGE = Buffer.alloc(8192, 'garbage')

describe('A damaged spool file', () => {
  let scope: AsyncDisposableStack
  let folder: string
  let file: string

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    folder = scope.use(await makeFolder()).path
    file = join(folder, 'spool.db')
    writeFileSync(file, GARBAGE)
  })

  afterEach(() => scope.disposeAsync())

  it('is renamed and reported, and a new file stores envelopes', async () => {
    const notices: string[] = []
    const spool = await openSqliteSpool(file, PLENTY, (notice) => notices.push(notice))
    scope.defer(() => spool.close())
    await store(spool)
    const [name = ''] = readdirSync(folder).filter((each) => each.includes('.damaged-'))
    expect(readFileSync(join(folder, name))).toEqual(GARBAGE)
    expect(notices).toEqual([
      `the spool's file was damaged and is set aside as ${join(folder, name)}; a new one is in its place`,
    ])
  })

  it('is renamed at the next start when the damage was found later', async () => {
    rmSync(file)
    const spool = await openSqliteSpool(file, PLENTY)
    for (let n = 0; n < 50; n++) await store(spool, { bytes: 3_000 })
    await spool.close()
    writeAt(file, Buffer.alloc(PAGE, 0xa7), rootOf(file, 'totals'))
    const again = await openSqliteSpool(file, PLENTY)
    await expect(again.take(10, 1_000, ALL)).rejects.toThrow('malformed')
    await expect(store(again)).rejects.toThrow('is damaged')
    await expect(again.probe()).rejects.toThrow('is damaged')
    expect(await again.describe()).toMatchObject({
      disk: { problem: expect.stringContaining('is damaged') },
    })
    const beside = await openSqliteSpool(file, PLENTY) // while another one has it open
    await beside.close()
    await again.close()
    const notices: string[] = []
    const last = await openSqliteSpool(file, PLENTY, (notice) => notices.push(notice))
    scope.defer(() => last.close())
    expect(notices).toEqual([expect.stringContaining('is set aside as')])
    await store(last)
    await last.close()
    await (await openSqliteSpool(file, PLENTY, (notice) => notices.push(notice))).close()
    expect(notices).toHaveLength(1)
  })

  it('still delivers and expires what lies elsewhere', async () => {
    rmSync(file)
    const before = await openSqliteSpool(file, PLENTY)
    for (let n = 0; n < 20; n++) await store(before, { bytes: 3_000, headers: ['x-mark', 'damaged'] })
    const elsewhere = { bytes: 3_000, project: OTHER_PROJECT, category: 'session' }
    for (let n = 0; n < 20; n++) await store(before, elsewhere)
    await before.close()
    writeAt(file, Buffer.alloc(200, 0xff), pageWith(file, 'damaged'))
    const spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close())
    await expect(spool.take(10, 60_000, ALL)).rejects.toThrow('malformed')
    const taken = await spool.take(10, 60_000, ALL)
    expect(taken.map(({ project }) => project)).toEqual(Array(10).fill(OTHER_PROJECT))
    expect(await Promise.all(taken.map((lease) => spool.finish(lease)))).not.toContain(false)
    await expect(spool.expire(Date.now())).rejects.toThrow('malformed')
    expect(await spool.expire(Date.now())).toHaveLength(10)
  })

  it('still expires entries when its dead letters cannot be pruned', async () => {
    rmSync(file)
    const before = await openSqliteSpool(file, PLENTY)
    await store(before)
    await before.close()
    writeAt(file, Buffer.alloc(PAGE, 0xff), rootOf(file, 'entries_dead'))
    const spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close())
    await expect(spool.expire(Date.now())).rejects.toThrow('malformed')
    expect(await spool.expire(Date.now())).toHaveLength(1)
  })

  it('delivers no entry twice that it cannot remove', async () => {
    rmSync(file)
    const before = await openSqliteSpool(file, PLENTY)
    for (let n = 0; n < 3; n++) await store(before)
    await before.close()
    writeAt(file, Buffer.alloc(PAGE, 0xff), rootOf(file, 'envelopes_rank'))
    const spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close())
    for (const lease of await spool.take(2, 60_000, ALL)) {
      await expect(spool.finish(lease)).rejects.toThrow('malformed')
      await spool.postpone(lease, 0)
    }
    const taken = []
    for (let n = 0; n < 5; n++) taken.push(...(await spool.take(1, 60_000, ALL)))
    expect(taken).toHaveLength(1)
  })

  it('is not set aside when it was only marked, as after read errors of the disk', async () => {
    rmSync(file)
    const before = await openSqliteSpool(file, PLENTY)
    const { key } = await store(before)
    await before.close()
    markDamaged(file)
    const notices: string[] = []
    const spool = await openSqliteSpool(file, PLENTY, (notice) => notices.push(notice))
    scope.defer(() => spool.close())
    expect(notices).toEqual([expect.stringContaining('its file is intact')])
    expect((await spool.take(1, 1_000, ALL)).map((lease) => lease.key)).toEqual([key])
    expect(readdirSync(folder).filter((name) => name.includes('damaged'))).toEqual([])
  })

  it('is listed until it is deleted, and the bodies of its entries stay as long', async () => {
    rmSync(file)
    const before = await openSqliteSpool(file, PLENTY)
    await store(before, { bytes: LARGE_BYTES })
    await before.close()
    writeFileSync(file, GARBAGE)
    const bodies = () => readdirSync(join(folder, 'bodies'))
    const start = async () => {
      const spool = await openSqliteSpool(file, PLENTY)
      const { disk } = await spool.describe()
      await spool.close()
      return disk?.damagedFiles ?? []
    }
    const [damaged = ''] = await start()
    expect(await start()).toEqual([damaged])
    expect(bodies()).toHaveLength(1)
    rmSync(damaged)
    expect(await start()).toEqual([])
    expect(bodies()).toEqual([])
  })

  it('is not renamed while another replica has it open', async () => {
    const other = new OwnerLock(file)
    scope.defer(() => other.close())
    await expect(openSqliteSpool(file, PLENTY)).rejects.toThrow(
      `SPOOL_URL: "${file}" is damaged, and another replica has it open; stop all of them, then start one, which sets it aside`,
    )
    expect(readFileSync(file)).toEqual(GARBAGE)
  })
})

function writeAt(file: string, bytes: Uint8Array, page: number): void {
  const target = openSync(file, 'r+')
  writeSync(target, bytes, 0, bytes.length, (page - 1) * PAGE)
  closeSync(target)
}

/** Returns the number of the first page of rows that contains a text. */
function pageWith(file: string, text: string): number {
  const all = readFileSync(file)
  const isLeaf = (page: number) => all[(page - 1) * PAGE] === 0x0d
  const hasText = (page: number) => all.subarray((page - 1) * PAGE, page * PAGE).includes(text)
  const pages = Array.from({ length: all.length / PAGE }, (_, n) => n + 1)
  return pages.find((page) => isLeaf(page) && hasText(page)) ?? 0
}

/** Returns the number of the first page of a table. */
function rootOf(file: string, table: string): number {
  using db = new DatabaseSync(file)
  return Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)?.rootpage)
}
