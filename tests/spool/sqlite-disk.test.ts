/** What the spool's SQLite file and the bodies beside it leave on the disk: nothing for others to read, and no litter. */

import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Spool, SpoolBounds } from '../../tunnel/src/spool/spool.ts'
import { openSqliteSpool } from '../../tunnel/src/spool/sqlite.ts'
import { makeFolder } from '../helpers/folder.ts'
import { putOne, store, takeAll } from './envelopes.ts'
import { LARGE_BYTES, PLENTY, waitingOf } from './waiting.ts'

describe('On the disk', () => {
  let scope: AsyncDisposableStack
  let folder: string
  let spool: Spool

  const open = async (bounds: SpoolBounds = PLENTY) => {
    const opened = await openSqliteSpool(join(folder, 'spool.db'), bounds)
    scope.defer(() => opened.close())
    return opened
  }
  const bodies = () => readdirSync(join(folder, 'bodies'))

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    folder = scope.use(await makeFolder()).path
    spool = await open()
  })

  afterEach(() => scope.disposeAsync())

  it('nobody else may read what waits', async () => {
    await store(spool)
    await store(spool, { bytes: LARGE_BYTES })
    const all = readdirSync(folder, { recursive: true, withFileTypes: true })
    const open = all.filter((entry) => statSync(join(entry.parentPath, entry.name)).mode & 0o077)
    expect(open.map(({ name }) => name)).toEqual([])
  })

  it('large bodies lie as files until they are finished', async () => {
    await store(spool, { bytes: LARGE_BYTES })
    await store(spool, { bytes: 1_000 })
    expect(bodies()).toHaveLength(1)
    for (const lease of await takeAll(spool, 2)) await spool.finish(lease)
    expect(bodies()).toEqual([])
  })

  it('nothing is left of what expires, is known already, is refused, or makes room', async () => {
    const { waiting, body } = await putOne(spool, { bytes: LARGE_BYTES, category: 'replay' })
    expect(await spool.put(waiting, body, 0)).toEqual({ kind: 'known' })
    const small = await open({ ...PLENTY, bytes: 2 * LARGE_BYTES })
    await store(small, { bytes: LARGE_BYTES - 5_000 })
    await store(small, { bytes: LARGE_BYTES - 10_000 })
    expect(bodies()).toHaveLength(2)
    expect((await putOne(small, { bytes: LARGE_BYTES })).result).toMatchObject({ kind: 'full' })
    expect(bodies()).toHaveLength(2)
    await spool.expire(Date.now() + 1)
    expect(bodies()).toEqual([])
  })

  it('nothing is left of a body that breaks off while it is written', async () => {
    function* chunks() {
      yield Buffer.alloc(LARGE_BYTES)
      throw new Error('it does not unpack')
    }
    const waiting = await waitingOf(Buffer.alloc(2 * LARGE_BYTES))
    await expect(spool.put(waiting, { chunks }, 0)).rejects.toThrow('it does not unpack')
    expect(bodies()).toEqual([])
    expect(await spool.totals()).toMatchObject({ envelopes: 0 })
  })

  it('what a process left behind that was killed is gone after the next start', async () => {
    const kept = await store(spool, { bytes: LARGE_BYTES })
    const before = bodies()
    await spool.close()
    writeFileSync(join(folder, 'bodies', 'ffffffffffffffffffffffffffffffff'), 'a file without a row')
    writeFileSync(join(folder, 'bodies', `${kept.key}.0-half-written`), 'half')
    const again = await open()
    await expect.poll(bodies, { timeout: 5_000 }).toEqual(before)
    expect(await takeAll(again, 1)).toHaveLength(1)
  })
})
