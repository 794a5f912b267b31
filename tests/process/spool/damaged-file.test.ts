/** Damaged spool file: it is reported until it is deleted, and what SQLite recovers of it returns to the spool while the tunnel runs. */

import { execFile } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { depthOf } from '../../support/outage/accounting.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { writePreviousFile } from '../../support/spool/previous-release.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const ENVELOPES = 30
const HEADER_BYTES = 100

it('A damaged spool file is shown in status and metrics, and put-back.sql has its recovered envelopes delivered once', async () => {
  await using folder = await makeMemoryFolder()
  await using sentry = await startSentry()
  const file = join(folder.path, 'spool.db')
  const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: pathToFileURL(file).href }
  const idOf = (n: number) => n.toString(16).padStart(32, '0')
  await sentry.away()
  {
    await using before = await startTunnel({ env })
    for (let n = 0; n < ENVELOPES; n++)
      expect((await post(before.url, { body: errorOf(sentry.dsn(), { event_id: idOf(n) }) })).outcome).toBe(
        'spooled',
      )
  }
  cpSync(file, join(folder.path, 'recovered.db')) // as `sqlite3 .recover` makes it, which needs a shell of its own
  writeFileSync(file, readFileSync(file).fill('damage', 0, HEADER_BYTES))

  await using tunnel = await startTunnel({ env })
  const status = async () => (await tunnel.admin('/status')).json()
  const [damaged = ''] = (await status()).spool.damaged_files
  expect(damaged).toMatch(/spool\.db\.damaged-/)
  expect(await (await tunnel.admin('/metrics')).text()).toMatch(/^culvert_spool_damaged_files\{.*\} 1$/m)

  await putBack(folder.path)
  await putBack(folder.path)
  await expect.poll(status).toMatchObject({ spool: { damaged_files: [damaged], envelopes: ENVELOPES } }) // totals may be late

  const { entries } = await (await tunnel.admin(`/store/events/${idOf(3)}`)).json()
  expect(entries).toMatchObject([{ state: 'pending', event_id: idOf(3) }])

  await sentry.back()
  await until(async () => (await depthOf([tunnel])) === 0)
  const arrived = sentry.requests.map(({ header }) => header.event_id)
  expect(arrived.toSorted()).toEqual(Array.from({ length: ENVELOPES }, (_, n) => idOf(n)))

  rmSync(damaged)
  await expect.poll(status).toMatchObject({ spool: { damaged_files: [], envelopes: 0, bytes: 0 } })
  expect(await (await tunnel.admin('/metrics')).text()).toMatch(/^culvert_spool_damaged_files\{.*\} 0$/m)
})

it('put-back.sql also moves the envelopes of a file of the previous release', async () => {
  await using folder = await makeMemoryFolder()
  const SPOOL_URL = pathToFileURL(join(folder.path, 'spool.db')).href
  await using tunnel = await startTunnel({ env: { SENTRY_DSN: 'http://key@127.0.0.1:9/1', SPOOL_URL } })
  writePreviousFile(join(folder.path, 'recovered.db'))
  await putBack(folder.path)
  const { entries } = await (await tunnel.admin('/store/entries?state=pending')).json()
  const receipts = entries.map(({ receipt }: { receipt: string }) => receipt)
  expect(receipts.toSorted()).toEqual(['receipt-1', 'receipt-2', 'receipt-3'])
})

/** Runs the script beside the spool's file, as the shell of SQLite does. */
async function putBack(cwd: string): Promise<void> {
  const script = `new (require('node:sqlite').DatabaseSync)('spool.db').exec(fs.readFileSync(process.argv[1], 'utf8'))`
  await promisify(execFile)(NODE, ['--eval', script, join(ROOT, 'deploy/put-back.sql')], { cwd })
}
