/** Tunnels while their NATS server is away, is not running yet, or requires credentials. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { errorOf } from '../../support/envelopes.ts'
import { it } from '../../support/nats/fixtures.ts'
import { type Nats, startNats } from '../../support/nats/nats.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

describe('Tunnels on a NATS server', requires('nats'), () => {
  it('report in status that the server is away, and answer all other admin requests', async ({ nats }) => {
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: sentry.dsn(), SPOOL_URL: nats.url } })
    await nats.kill()
    const { spool } = await (await tunnel.admin('/status')).json()
    expect(spool).toMatchObject({ id: expect.any(String), problem: expect.any(String) })
    expect(spool).not.toHaveProperty('envelopes')
    const metrics = await tunnel.admin('/metrics')
    expect(metrics.status).toBe(200)
    const text = await metrics.text()
    expect(text).toContain('culvert_spool_max_bytes{')
    expect(text).not.toContain('culvert_spool_envelopes{')
    const page = await tunnel.admin('/spool')
    expect(page.status).toBe(503)
    expect(await page.json()).toEqual({ detail: expect.stringMatching(/^The store does not answer: /) })
    await nats.start()
    await expect.poll(async () => (await tunnel.admin('/spool')).status).toBe(200)
  })
})

describe('A tunnel whose NATS server is not running yet', requires('nats'), () => {
  it('forwards what Sentry accepts, returns 503 for the rest, and spools when the server has started', async () => {
    const port = await freePort()
    await using sentry = await startSentry()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: `nats://127.0.0.1:${port}` }
    await using tunnel = await startTunnel({ env })
    const send = (n: number) => post(tunnel.url, { body: errorOf(sentry.dsn(), { n }) })
    const spool = async () => (await (await tunnel.admin('/status')).json()).spool
    expect(await send(1)).toMatchObject({ status: 200 })
    expect((await tunnel.admin('/readyz')).status).toBe(200)
    await sentry.away()
    expect(await send(2)).toMatchObject({ status: 503, json: { code: 'spool-unwritable' } })
    expect(await spool()).toMatchObject({
      writable: false,
      problem: expect.stringContaining('no NATS server'),
    })

    await using _nats = await startNats({ port })
    await expect.poll(async () => (await send(3)).outcome).toBe('spooled')
    await expect.poll(spool).toMatchObject({
      writable: true,
      envelopes: 1,
      id: expect.stringContaining('CULVERT_SPOOL'),
    })
    await sentry.back()
    await expect.poll(() => sentry.requests.length).toBe(2)
    expect(tunnel.stderr).toEqual([])
  })

  describe('with credentials', () => {
    const started = new AsyncDisposableStack()
    let nats: Nats
    let folder: Awaited<ReturnType<typeof makeFolder>>

    beforeAll(async () => {
      nats = started.use(await startNats({ user: 'culvert', password: 's3:cret' }))
      folder = started.use(await makeFolder())
    })

    afterAll(() => started.disposeAsync())

    const start = (env: Record<string, string>) =>
      startTunnel({ env: { SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2', ...env } })

    it('starts with those in SPOOL_CREDENTIALS_FILE', async () => {
      const file = join(folder.path, 'right')
      await writeFile(file, 'culvert:s3:cret\n')
      await using tunnel = await start({ SPOOL_URL: nats.url, SPOOL_CREDENTIALS_FILE: file })
      const { spool } = await (await tunnel.admin('/status')).json()
      expect(spool).toMatchObject({ writable: true, id: expect.stringContaining('CULVERT_SPOOL') })
    })

    it('prefers those in SPOOL_URL', async () => {
      const file = join(folder.path, 'wrong')
      await writeFile(file, 'culvert:wrong\n')
      const url = nats.url.replace('//', '//culvert:s3%3Acret@')
      await using tunnel = await start({ SPOOL_URL: url, SPOOL_CREDENTIALS_FILE: file })
      expect((await (await tunnel.admin('/status')).json()).spool).toMatchObject({ writable: true })
    })

    it('does not start when they are wrong, and says so', async () => {
      await expect(start({ SPOOL_URL: nats.url.replace('//', '//culvert:wrong@') })).rejects.toThrow(
        /cannot start, 1 problem\(s\):\nSPOOL_URL: nats:\/\/.+ refuses these credentials$/,
      )
    })

    it('does not start without them, and names the setting to write', async () => {
      const missing = { SPOOL_CREDENTIALS_FILE: join(folder.path, 'missing') }
      for (const env of [{}, missing])
        await expect(start({ SPOOL_URL: nats.url, ...env })).rejects.toThrow(
          /cannot start, 1 problem\(s\):\nSPOOL_URL: nats:\/\/.+ requires credentials; write nats:\/\/user:password@host:4222, or .* SPOOL_CREDENTIALS_FILE$/,
        )
    })
  })
})
