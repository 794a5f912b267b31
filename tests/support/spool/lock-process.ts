/** Process that holds the write lock of a SQLite file, as a replica does that is paused during a commit: `lock-process.ts <file>`. */

import { DatabaseSync } from 'node:sqlite'

const [file = ''] = process.argv.slice(2)
const db = new DatabaseSync(file, { timeout: 10_000 })
db.exec('BEGIN IMMEDIATE')
process.on('SIGUSR2', () => {
  db.exec('ROLLBACK')
  console.log('released')
})
console.log('locked')
setInterval(() => undefined, 60_000)
