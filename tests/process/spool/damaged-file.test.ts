/** Damaged spool file: it is reported until the recovery command has restored its envelopes, while the tunnel runs. */

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { depthOf } from '../../support/outage/accounting.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const ENVELOPES = 30
const HEADER_BYTES = 100

it('A damaged spool file is shown in status and metrics, and npm run spool -- recover has its envelopes delivered once', async () => {
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
  writeFileSync(file, readFileSync(file).fill('damage', 0, HEADER_BYTES))

  await using tunnel = await startTunnel({ env })
  const status = async () => (await tunnel.admin('/status')).json()
  const [damaged = ''] = (await status()).spool.damaged_files
  expect(damaged).toMatch(/spool\.db\.damaged-/)
  expect(await (await tunnel.admin('/metrics')).text()).toMatch(/^culvert_spool_damaged_files\{.*\} 1$/m)

  const recover = async () => {
    const args = ['tunnel/src/spool-command.ts', 'recover', damaged]
    return (await promisify(execFile)(NODE, args, { cwd: ROOT })).stdout
  }
  const told = await recover()
  expect(told).toContain(`Recovered: ${ENVELOPES} envelopes`)
  expect(told).toContain('Already known: 0 envelopes')
  expect(told).toContain('Unreadable: 0 envelopes')
  await expect.poll(status).toMatchObject({ spool: { damaged_files: [], envelopes: ENVELOPES } }) // totals may be late
  expect(await (await tunnel.admin('/metrics')).text()).toMatch(/^culvert_spool_damaged_files\{.*\} 0$/m)

  await sentry.back()
  await until(async () => (await depthOf([tunnel])) === 0)
  expect(await recover()).toContain('was recovered before')
  expect(await depthOf([tunnel])).toBe(0)
  const arrived = sentry.requests.map(({ header }) => header.event_id)
  expect(arrived.toSorted()).toEqual(Array.from({ length: ENVELOPES }, (_, n) => idOf(n)))
})
