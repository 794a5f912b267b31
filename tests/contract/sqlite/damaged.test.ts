/** Spool file that SQLite cannot read: it is renamed, unless another replica has it open. */

import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { markDamaged } from '../../../tunnel/src/store/sqlite/damaged-files.ts'
import { OwnerLock } from '../../../tunnel/src/store/sqlite/locks.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { ALL, LARGE_BYTES, PLENTY } from '../../support/spool/entries.ts'
import { store } from '../../support/spool/operations.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const PAGE = 4096
const ENTRIES = 200
const BAD_PAGES = 12
const LEAF_OF_TABLE = 0x0d // sqlite.org/fileformat2.html#b_tree_pages
const TRUE_OR_FALSE = [() => true, () => false] as const
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

  it('takes no more entries, and delivers the others, when a running tunnel meets damaged pages', async () => {
    rmSync(file)
    const before = await openSqliteSpool(file, PLENTY)
    const stored: string[] = []
    for (let n = 0; n < ENTRIES; n++) stored.push((await store(before, { bytes: 3_000 })).key)
    await before.close()
    const pages = leafPages(file)
    const content = readFileSync(file)
    for (const page of pages.slice(2, 2 + BAD_PAGES)) content.fill(0xa7, (page - 1) * PAGE, page * PAGE)
    writeFileSync(file, content)
    const spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close())
    const delivered: string[] = []
    for (;;) {
      const leases = await spool.take(64, 60_000, ALL)
      if (leases.length === 0) break
      for (const lease of leases) {
        const isWhole = await spool.read(lease).then(...TRUE_OR_FALSE)
        if (isWhole && (await spool.finish(lease).catch(() => false))) delivered.push(lease.key)
      }
    }
    expect(delivered.length).toBeGreaterThanOrEqual(ENTRIES - 3 * BAD_PAGES)
    expect(stored).toEqual(expect.arrayContaining(delivered))
    expect(new Set(delivered).size).toBe(delivered.length)
    await expect(store(spool)).rejects.toThrow(/is damaged \(\d+ entries cannot be read: rows \d+/)
    await expect(spool.probe()).rejects.toThrow('is damaged')
    expect(await spool.describe()).toMatchObject({
      disk: { problem: expect.stringContaining('is damaged') },
    })
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

  it('accepts entries again when a running tunnel finds that it is intact', async () => {
    rmSync(file)
    const spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close())
    for (let n = 0; n < ENTRIES; n++) await store(spool, { bytes: 3_000 })
    using db = new DatabaseSync(file)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const content = readFileSync(file)
    const [page = 0] = leafPages(file).slice(ENTRIES / 2)
    const damage = Buffer.alloc(PAGE, 0xa7)
    writeAt(file, damage, page)
    while ((await spool.take(64, 60_000, ALL)).length > 0);
    await expect(store(spool)).rejects.toThrow('is damaged')
    writeAt(file, content.subarray((page - 1) * PAGE, page * PAGE), page)
    await spool.probe()
    await store(spool)
    expect(readdirSync(folder)).not.toContain('spool.db-damaged')
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

/** Returns the pages with rows of the table, in its order: `dbstat` is not part of Node's SQLite. */
function leafPages(file: string): number[] {
  const content = readFileSync(file)
  const pages = Array.from({ length: content.length / PAGE }, (_, index) => index + 1)
  return pages.filter((page) => page > 1 && content[(page - 1) * PAGE] === LEAF_OF_TABLE && holdsEntry(page))

  function holdsEntry(page: number): boolean {
    return content.subarray((page - 1) * PAGE, page * PAGE).includes('sentry.example')
  }
}

function writeAt(file: string, bytes: Uint8Array, page: number): void {
  const target = openSync(file, 'r+')
  writeSync(target, bytes, 0, bytes.length, (page - 1) * PAGE)
  closeSync(target)
}

/** Returns the number of the first page of a table. */
function rootOf(file: string, table: string): number {
  using db = new DatabaseSync(file)
  return Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)?.rootpage)
}
