/** Stored body that was cut, as by a file system after a power failure. */

import { readdir, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { attachmentOf, errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import { startSentry } from '../../../support/sentry/sentry.ts'
import { LARGE_BYTES } from '../../../support/spool/entries.ts'
import { openTunnel } from '../../../support/tunnel/in-process.ts'

it('is not sent and not blamed on Sentry, and the log names the file', async () => {
  await using sentry = await startSentry()
  await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
  const headers = { authorization: `Bearer ${tunnel.token}` }
  await tunnel.admin('/spool/pause', { method: 'POST', headers })
  sentry.once({ status: 503 })
  await post(tunnel.url, { body: attachmentOf(sentry.dsn(), Buffer.alloc(LARGE_BYTES)) })
  const { place } = tunnel.services.config.spool
  const folder = join(dirname('file' in place ? place.file : ''), 'bodies')
  const [file = ''] = await readdir(folder)
  await truncate(join(folder, file), LARGE_BYTES / 2)
  await tunnel.admin('/spool/resume', { method: 'POST', headers })
  const { err } = await tunnel.log(({ msg }) => msg === 'the spool failed')
  expect(JSON.stringify(err)).toContain(file)
  expect(sentry.requests).toHaveLength(1) // the one that got 503
  expect((await post(tunnel.url, { body: errorOf(sentry.dsn()) })).headers).not.toHaveProperty(
    'x-culvert-outcome',
  )
  const { upstreams, spool } = await (await tunnel.admin('/status')).json()
  expect(upstreams[0].breaker.open).toBe(false)
  expect(spool.envelopes).toBe(1)
})
