/** Rate limits in the SQLite file of a spool. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { openSqliteSpool } from '../../../tunnel/src/spool/sqlite/client.ts'
import { PLENTY, PROJECT } from '../../support/spool/entries.ts'
import { limitOf } from '../../support/spool/limit-guarantees.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const DAY = 24 * 60 * 60 * 1000

it('removes limits that have ended, and those of a wrong clock, when a limit is added', async () => {
  await using folder = await makeFolder()
  const file = join(folder.path, 'spool.db')
  const spool = await openSqliteSpool(file, PLENTY)
  using db = new DatabaseSync(file, { timeout: 10_000 })
  const insert = db.prepare('INSERT INTO rate_limits (project, category, until) VALUES (?, ?, ?)')
  insert.run(PROJECT, 'session', Date.now() - 1)
  insert.run(PROJECT, 'replay', Date.now() + 2 * DAY)
  const limit = limitOf()
  await spool.addLimits([limit])
  expect(db.prepare('SELECT * FROM rate_limits').all()).toEqual([limit])
  await spool.close()
})
