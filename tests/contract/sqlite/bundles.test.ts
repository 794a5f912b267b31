/** Bundles of the SDK in the SQLite file of a spool. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { PLENTY } from '../../support/spool/entries.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const HOUR_MS = 60 * 60 * 1000
const BUNDLE = Buffer.from('bundle')

it('Bundles are removed when no replica has stored them for a day, and the oldest ones of more than 40', async () => {
  await using folder = await makeMemoryFolder()
  const file = join(folder.path, 'spool.db')
  const spool = await openSqliteSpool(file, PLENTY)
  using db = new DatabaseSync(file, { timeout: 10_000 })
  const { bundles } = spool.state
  const write = (name: string) => bundles.write(new Map([[name, BUNDLE]]))
  const age = (hours: number) => db.prepare('UPDATE bundles SET written = written - ?').run(hours * HOUR_MS)
  await write('first')
  age(24)
  await write('second')
  expect(await bundles.read('first')).toBeDefined()
  age(1.1)
  await write('second')
  expect(await bundles.read('first')).toBeUndefined()
  age(1)
  await bundles.write(new Map(Array.from({ length: 40 }, (_, n) => [`${n}`, BUNDLE])))
  expect(await bundles.read('second')).toBeUndefined()
  expect(await bundles.read('0')).toEqual(new Uint8Array(BUNDLE))
  await spool.close()
})
