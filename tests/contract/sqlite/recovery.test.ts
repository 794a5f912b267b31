/** Recovery of a damaged spool file: each readable entry returns to the spool once, and the others are counted. */

import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recover } from '../../../tunnel/src/spool/recovery/recover.ts'
import type { Spool } from '../../../tunnel/src/spool/spool.ts'
import { openSqliteSpool } from '../../../tunnel/src/spool/sqlite/client.ts'
import { ALL, LARGE_BYTES, LONG_MS, PLENTY } from '../../support/spool/entries.ts'
import { bytesOf, putOne, store, takeAll } from '../../support/spool/operations.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const PAGE = 4096
const ENTRIES = 600
const DELIVERED = 200
const PENDING = ENTRIES - DELIVERED

describe('recover', () => {
  let template: Template
  let scope: AsyncDisposableStack
  let folder: string
  let file: string
  let damaged: string
  let bodies: ReadonlyMap<string, Buffer>
  let spool: Spool

  beforeAll(async () => {
    template = await fillTemplate()
  })

  afterAll(() => template?.[Symbol.asyncDispose]())

  const open = async () => {
    const opened = await openSqliteSpool(file, PLENTY)
    scope.defer(() => opened.close())
    return opened
  }
  const rootOf = (name: string) => {
    using db = new DatabaseSync(damaged, { readOnly: true })
    return Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name)?.rootpage)
  }
  const overwrite = (page: number, pages = 1, bytes = pages * PAGE) => {
    const content = readFileSync(damaged)
    content.fill(0xa7, (page - 1) * PAGE, (page - 1) * PAGE + bytes)
    writeFileSync(damaged, content)
  }
  /** Leases everything from the spool, and returns the keys of entries whose body is unmodified. */
  const wholeKeys = async () => {
    const leases = await takeAll(spool, (await spool.totals()).envelopes)
    const whole: string[] = []
    for (const lease of leases)
      if (bodies.get(lease.key)?.equals(await bytesOf(await spool.read(lease)))) whole.push(lease.key)
    return whole.toSorted()
  }

  /** Copies the template, and renames its file as a tunnel does. */
  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    folder = scope.use(await makeMemoryFolder()).path
    cpSync(template.path, folder, { recursive: true })
    file = join(folder, 'spool.db')
    damaged = `${file}.damaged-2026-11-22T170000.000Z`
    bodies = template.bodies
    renameSync(file, damaged)
    spool = await open()
  })

  afterEach(() => scope.disposeAsync())

  it.each<[string, () => void]>([
    ['nothing', () => {}],
    ['the header', () => overwrite(1, 1, 100)],
    ['the first page with the schema', () => overwrite(1)],
    ['the root of the table', () => overwrite(rootOf('envelopes'))],
    ['an index', () => overwrite(rootOf('envelopes_due'))],
    ['the totals', () => overwrite(rootOf('totals'))],
  ])(
    'restores every pending entry once and no delivered one, from a file that is undamaged except for %s',
    async (_, damage) => {
      damage()
      const recovery = await recover(damaged)
      expect(recovery).toMatchObject({ recovered: PENDING, known: 0, unreadable: 0 })
      expect(await wholeKeys()).toEqual([...bodies.keys()].toSorted())
    },
  )

  it.each<[string, () => void]>([
    ['pages in the middle', () => overwrite(Math.floor(statSync(damaged).size / PAGE / 2), 40)],
    [
      'many single pages',
      () => {
        for (let page = 10; page < statSync(damaged).size / PAGE; page += 17) overwrite(page)
      },
    ],
    ['its second half', () => truncateSync(damaged, Math.floor(statSync(damaged).size / 2) + 1_000)],
  ])('restores the remaining entries and counts the others when the file has lost %s', async (_, damage) => {
    damage()
    const { recovered = 0, unreadable } = (await recover(damaged)) ?? {}
    expect(recovered).toBeGreaterThan(PENDING / 8)
    expect(recovered).toBeLessThan(PENDING)
    expect(unreadable).toBe(PENDING - recovered)
    expect(await wholeKeys()).toHaveLength(recovered)
  })

  it('reads the write-ahead log beside the file, and works without it', async () => {
    for (let n = 0; n < 20; n++) await store(spool)
    const [withLog, without] = ['a', 'b'].map((name) => join(folder, name, 'spool.db.damaged-1'))
    for (const copy of [withLog, without]) cpSync(file, String(copy))
    cpSync(`${file}-wal`, `${withLog}-wal`)
    expect(await recover(String(withLog))).toMatchObject({ recovered: 20, unreadable: 0 })
    expect(await recover(String(without))).toMatchObject({ recovered: 0, unreadable: 0 })
  })

  it('restores no entry twice that was delivered since or is pending again', async () => {
    cpSync(damaged, join(folder, 'copy'))
    expect(await recover(damaged)).toMatchObject({ recovered: PENDING })
    expect(await recover(damaged)).toBeUndefined()
    for (const lease of await takeAll(spool, 100)) await spool.finish(lease)
    cpSync(join(folder, 'copy'), damaged)
    const again = await recover(damaged)
    expect(again?.recovered).toBe(0)
    expect((again?.known ?? 0) + (again?.unreadable ?? 0)).toBe(PENDING) // large bodies were deleted with their delivery
    expect(await spool.totals()).toMatchObject({ envelopes: PENDING - 100 })
  })

  it('is named in the state of the disk until the damaged file is recovered or deleted', async () => {
    expect((await spool.disk?.())?.damagedFiles).toEqual([damaged])
    cpSync(damaged, `${damaged}2`)
    await recover(damaged)
    expect((await spool.disk?.())?.damagedFiles).toEqual([`${damaged}2`])
    rmSync(`${damaged}2`)
    expect((await spool.disk?.())?.damagedFiles).toEqual([])
  })

  it('finds large bodies that a start of a tunnel has kept', async () => {
    await spool.close()
    spool = await open()
    expect(readdirSync(join(folder, 'bodies'))).not.toEqual([])
    expect(await recover(damaged)).toMatchObject({ recovered: PENDING, unreadable: 0 })
  })

  it('counts an entry as unreadable when its large body is gone', async () => {
    rmSync(join(folder, 'bodies', readdirSync(join(folder, 'bodies'))[0] ?? ''))
    expect(await recover(damaged)).toMatchObject({ recovered: PENDING - 1, unreadable: 1 })
  })

  it('rejects files that are no spool', async () => {
    await expect(recover(file)).rejects.toThrow('is not a damaged spool file')
    await expect(recover(`${file}.damaged-0`)).rejects.toThrow('there is no file')
    expect(existsSync(file)).toBe(true)
  })
})

type Template = Awaited<ReturnType<typeof fillTemplate>>

/** Fills a spool of which some entries were delivered, and closes it. */
async function fillTemplate() {
  await using starting = new AsyncDisposableStack()
  const { path } = starting.use(await makeMemoryFolder())
  const spool = await openSqliteSpool(join(path, 'spool.db'), PLENTY)
  const bodies = new Map<string, Buffer>()
  for (let n = 0; n < ENTRIES; n++) {
    const { entry, body } = await putOne(spool, {
      bytes: n % 100 === 50 ? LARGE_BYTES : 100 + ((n * 797) % 9_000),
    })
    bodies.set(entry.key, body)
  }
  for (const lease of await spool.take(DELIVERED, LONG_MS, ALL)) {
    await spool.finish(lease)
    bodies.delete(lease.key)
  }
  await spool.close()
  const started = starting.move()
  return {
    path,
    bodies,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
