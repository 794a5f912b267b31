/** Wrong version of `writer-process.ts`: it acknowledges entries before they are synced. `writer-process-unsynced.ts <file> <count>` */

import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const [file = '', many = '1'] = process.argv.slice(2)
const db = new DatabaseSync(file, { timeout: 10_000 })
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
const insert = db.prepare("INSERT INTO totals VALUES ('test', ?, '', 0, 0)")
for (let i = 0; i < Number(many); i++) {
  insert.run(`row ${i}`)
  writeSync(1, `stored ${i}\n`)
}
db.close()
