/** Process that opens the spool in each file named on stdin, puts one envelope, closes it and prints the result. */

import { randomBytes } from 'node:crypto'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { inOne, PLENTY, spoolEntryOf } from './entries.ts'

process.on('message', (file: string) => {
  openAndPut(file).then(
    (kind) => process.send?.(kind),
    (error) => process.send?.(String(error)),
  )
})
process.send?.('ready')

async function openAndPut(file: string): Promise<string> {
  const spool = await openSqliteSpool(file, PLENTY)
  const body = randomBytes(1_000)
  const { kind } = await spool.put(await spoolEntryOf(body), inOne(body), 0)
  await spool.close()
  return kind
}
