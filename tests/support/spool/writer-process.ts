/**
 * Process that puts envelopes into a SQLite spool: `writer-process.ts <file> <count> <concurrency>`. It writes `opened <id>`, and `stored
 * <key>` when a put has resolved, at once and unbuffered, so that a kill loses no line.
 */

import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { ENVELOPE_BYTES, inOne, LARGE_BYTES, LARGE_EVERY, PLENTY, spoolEntryOf } from './entries.ts'

const [file = '', many = '1', atATime = '1'] = process.argv.slice(2)
const spool = await openSqliteSpool(file, PLENTY)
writeSync(1, `opened ${spool.id}\n`)

let left = Number(many)
await Promise.all(Array.from({ length: Number(atATime) }, putOn))
await spool.close()

async function putOn(): Promise<void> {
  while (left-- > 0) {
    const body = randomBytes(left % LARGE_EVERY === 0 ? LARGE_BYTES : ENVELOPE_BYTES)
    const entry = await spoolEntryOf(body)
    const { kind } = await spool.put(entry, inOne(body), 0)
    writeSync(1, `${kind} ${entry.key}\n`)
  }
}
