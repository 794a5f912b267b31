/**
 * Process that moves the entries of a SQLite spool between its two tables until it is killed: `mover-process.ts <file>`. It leases them,
 * ends their delivery and resends them, and writes a line after each round.
 */

import { writeSync } from 'node:fs'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { ALL, LONG_MS, PLENTY } from './entries.ts'

const [file = ''] = process.argv.slice(2)
const spool = await openSqliteSpool(file, PLENTY)
for (;;) {
  const leases = await spool.take(10, LONG_MS, ALL)
  await Promise.all(leases.map((lease) => spool.finish(lease, { state: 'declined', status: 400 })))
  await spool.entries.resend({}, 10)
  writeSync(1, `moved ${leases.length}\n`)
}
