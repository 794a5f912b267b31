/** Durability of a spool file, by the version of SQLite and the kind of disk. */

import { expect, it } from 'vitest'
import { describeDisk, problemOfSqlite } from '../../../../tunnel/src/store/sqlite/sqlite-durability.ts'

it.each(['3.44.6', '3.44.9', '3.50.7', '3.51.3', '3.52.0', '3.53.4', '4.0.0'])(
  'SQLite %s has no fault',
  (version) => {
    expect(problemOfSqlite(version)).toBeUndefined()
  },
)

it.each(['3.7.0', '3.44.5', '3.45.0', '3.49.2', '3.50.6', '3.51.2', ''])(
  'SQLite %s has the WAL-reset fault',
  (version) => {
    expect(problemOfSqlite(version)).toContain('run a Node.js with SQLite 3.51.3 or newer')
    expect(describeDisk('/', version)).toMatch(/^unproven: SQLite/)
  },
)

it('the SQLite of this Node has no fault', () => {
  expect(problemOfSqlite(process.versions.sqlite ?? '')).toBeUndefined()
})

it('a file in memory is said to be lost, and one on a disk is synced', () => {
  expect(describeDisk('/dev/shm')).toMatch(/^in memory: .*SPOOL_URL/)
  expect(describeDisk('/')).toBe('synced on 1 disk')
})
