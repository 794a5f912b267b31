/** Files of the spool that are deleted while it is open. */

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { ALL, PLENTY } from '../../support/spool/entries.ts'
import { keysOf, store, takeAll } from '../../support/spool/operations.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const ENTRIES = 50

describe('When a file of an open spool is deleted', () => {
  let scope: AsyncDisposableStack
  let file: string
  let spool: Spool
  let keys: string[]

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    file = join(scope.use(await makeMemoryFolder()).path, 'spool.db')
    spool = await openSqliteSpool(file, PLENTY)
    scope.defer(() => spool.close())
    keys = []
    for (let n = 0; n < ENTRIES; n++) keys.push((await store(spool)).key)
  })

  afterEach(() => scope.disposeAsync())

  it.each(['-wal', '-shm', ''])('spool.db%s, it accepts no more entries, and says why', async (suffix) => {
    rmSync(file + suffix)
    await expect(store(spool)).rejects.toThrow(`"${file}${suffix}" was deleted while tunnels run`)
    await expect(spool.probe()).rejects.toThrow('was deleted')
    expect(keysOf(await takeAll(spool, ENTRIES)).sort()).toEqual(keys.toSorted()) // delivery continues
  })

  it('spool.db-wal, the entries in it are saved in the file', async () => {
    expect(existsSync(`${file}-wal`)).toBe(true)
    rmSync(`${file}-wal`)
    await spool.totals() // any call
    await spool.close()
    const again = await openSqliteSpool(file, PLENTY)
    scope.defer(() => again.close())
    expect(keysOf(await again.take(ENTRIES, 1_000, ALL)).sort()).toEqual(keys.toSorted())
    await store(again)
  })
})
