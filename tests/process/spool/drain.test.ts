/** Drain of a spool that the tunnels no longer use. */

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { ENVIRONMENT, NODE, ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORES } from '../../support/spool/shared-stores.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { settingsOf } from '../../support/tunnel/running.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

it('node tunnel/src/commands/drain.ts delivers what is pending, and ends with 0', async () => {
  await using store = await STORES['SQLite file']()
  await using sentry = await startSentry()
  await using folder = await makeFolder()
  const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url }
  const ids = [1, 2, 3].map((n) => `${n}`.repeat(32))
  sentry.answer({ status: 503 })
  const tunnel = await startTunnel({ env })
  for (const id of ids) {
    const body = errorOf(sentry.dsn(), { event_id: id })
    expect(await post(tunnel.url, { body })).toMatchObject({ outcome: 'spooled' })
  }
  await tunnel.stop()
  sentry.requests.length = 0
  sentry.answer({})
  const drain = (url: string) =>
    promisify(execFile)(NODE, ['tunnel/src/commands/drain.ts'], {
      cwd: ROOT,
      env: { ...ENVIRONMENT, ...settingsOf(folder.path, env), SPOOL_URL: url },
    })
  expect((await drain(store.url)).stdout).toMatch(/^3 pending\.\n(.+\n)*Nothing is pending\. .+\n$/)
  expect(sentry.requests.map(({ header }) => header.event_id).sort()).toEqual(ids)
  expect((await drain(store.url)).stdout).toMatch(/^Nothing is pending\. .+\n$/)
  const inUse = promisify(execFile)(NODE, ['scripts/store.ts', 'drain', store.url], {
    cwd: ROOT,
    env: { ...ENVIRONMENT, ...settingsOf(folder.path, env), SPOOL_URL: store.url },
  })
  await expect(inUse).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is the spool in use'),
  })
  const missing = `file://${folder.path}/missing.db`
  await expect(drain(missing)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(missing) })
  expect(readdirSync(folder.path).filter((name) => name.startsWith('missing'))).toEqual([])
})
