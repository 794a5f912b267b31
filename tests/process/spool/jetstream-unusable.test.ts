/** Tunnel whose NATS server responds, but cannot store the spool. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { errorOf } from '../../support/envelopes.ts'
import { startNats } from '../../support/nats/nats.ts'
import { startOldNats } from '../../support/nats/old-server.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'

const spoolOf = async (tunnel: Tunnel) => (await (await tunnel.admin('/status')).json()).spool

describe('A tunnel whose NATS server is too old', () => {
  it('starts, forwards what Sentry accepts, answers 503 to the rest, and shows the remedy in /status', async () => {
    await using nats = await startOldNats('2.9.10')
    await using sentry = await startSentry()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: `nats://${nats.server}` }
    await using tunnel = await startTunnel({ env })
    expect((await post(tunnel.url, { body: errorOf(sentry.dsn()) })).status).toBe(200)
    expect((await tunnel.admin('/readyz')).status).toBe(200)
    expect(await spoolOf(tunnel)).toMatchObject({ writable: false })
    await sentry.away()
    const answer = await post(tunnel.url, { body: errorOf(sentry.dsn(), { n: 2 }) })
    expect(answer).toMatchObject({ status: 503, json: { code: 'spool-unwritable' } })
    expect((await tunnel.admin(`/store/events/${'e'.repeat(32)}`)).status).toBe(503)
    expect(await spoolOf(tunnel)).toMatchObject({
      writable: false,
      problem: expect.stringMatching(/runs nats-server 2\.9\.10, .*; install 2\.12\.3 or newer/),
    })
  })
})

describe('A tunnel whose NATS server has too little room', requires('nats'), () => {
  it('starts, shows the remedy in /status, and opens the spool when there is room', async () => {
    await using folder = await makeFolder()
    const config = join(folder.path, 'small.conf')
    await writeFile(config, 'jetstream { sync_interval: always, max_file_store: 10MB }\n')
    const [port, store] = [await freePort(), join(folder.path, 'store')]
    await using sentry = await startSentry()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: `nats://127.0.0.1:${port}` }
    await using scope = new AsyncDisposableStack()
    const small = scope.use(await startNats({ config, port, store }))
    await using tunnel = await startTunnel({ env })
    expect((await post(tunnel.url, { body: errorOf(sentry.dsn()) })).status).toBe(200)
    expect(await spoolOf(tunnel)).toMatchObject({
      problem: expect.stringMatching(
        /has no room for the stream .*; lower SPOOL_BYTES, or raise its max_file_store$/,
      ),
    })

    await small.kill()
    await using _large = await startNats({ port, store })
    await tunnel.log(({ msg }) => msg === 'the spool is open now')
    await sentry.away()
    expect((await post(tunnel.url, { body: errorOf(sentry.dsn(), { n: 2 }) })).outcome).toBe('spooled')
    await sentry.back()
    await expect.poll(() => sentry.requests.length).toBe(2)
  })
})
