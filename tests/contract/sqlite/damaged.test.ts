/** Spool file that SQLite cannot read: it is renamed, unless another replica has it open. */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteSpool } from '../../../tunnel/src/spool/sqlite/client.ts'
import { OwnerLock } from '../../../tunnel/src/spool/sqlite/locks.ts'
import { ALL, PLENTY } from '../../support/spool/entries.ts'
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
    const content = readFileSync(file)
    writeFileSync(file, content.fill(GARBAGE, 4 * PAGE))
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

  it('is not renamed while another replica has it open', async () => {
    const other = new OwnerLock(file)
    scope.defer(() => other.close())
    await expect(openSqliteSpool(file, PLENTY)).rejects.toThrow(
      `SPOOL_URL: "${file}" is damaged, and another replica has it open; stop all of them, then start one, which sets it aside`,
    )
    expect(readFileSync(file)).toEqual(GARBAGE)
  })
})
