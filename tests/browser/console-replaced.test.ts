/** Numbers of the console while replicas are killed and replaced, and web restarts. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { it } from '../support/browser/fixtures.ts'
import { errorOf } from '../support/envelopes.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { startSentry } from '../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../support/tunnel/tunnel.ts'
import { PASSWORD, signIn, startWebOver } from '../support/web/operator.ts'

const AT_ONCE = 8
const BEFORE_EACH_CHANGE = 60

describe('After replicas were killed and replaced, and web restarted', requires('chromium'), () => {
  it('the results of the overview add up, and lack only envelopes of the killed replicas', async ({
    chromium,
  }) => {
    await using scope = new AsyncDisposableStack()
    const folder = scope.use(await makeMemoryFolder())
    const sentry = scope.use(await startSentry())
    const env = {
      SENTRY_DSN: sentry.dsn(),
      OPERATOR_PASSWORD: PASSWORD,
      SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    }
    const ports = await Promise.all([freePort(), freePort(), freePort()])
    const origins = ports.map((port) => ({ adminUrl: `http://127.0.0.1:${port}` }))
    const startAt = async (port: number) =>
      scope.use(await startTunnel({ env: { ...env, ADMIN_PORT: String(port) } }))
    const tunnels: Tunnel[] = await Promise.all(ports.map(startAt))
    const firstWeb = await startWebOver(...origins)

    let [responses, lost, isDone] = [0, 0, false]
    const responsesBy = new Map<Tunnel, number>()
    /** Posts one envelope after the other. A killed tunnel responds to those that it holds with a reset. */
    const postMany = async (n: number): Promise<void> => {
      for (let sent = n; !isDone; sent++) {
        const tunnel = tunnels[sent % tunnels.length] as Tunnel
        const body = errorOf(sentry.dsn(), { event_id: crypto.randomUUID().replaceAll('-', '') })
        const response = await post(tunnel.url, { body }).catch(() => undefined)
        if (!response) {
          lost++
          continue
        }
        responses++
        responsesBy.set(tunnel, (responsesBy.get(tunnel) ?? 0) + 1)
      }
    }
    const posting = Array.from({ length: AT_ONCE }, (_, n) => postMany(n))
    const untilMore = async () => {
      const before = responses
      await expect.poll(() => responses).toBeGreaterThan(before + BEFORE_EACH_CHANGE)
    }

    await untilMore()
    for (const index of [0, 1]) {
      await tunnels[index]?.kill()
      tunnels[index] = await startAt(ports[index] ?? 0)
      await untilMore()
    }
    await firstWeb.stop()
    const web = scope.use(await startWebOver(...origins))
    await untilMore()
    isDone = true
    await Promise.all(posting)
    // A killed tunnel loses what it counted in its last 5 s.
    const kept = tunnels.reduce((sum, tunnel) => sum + (responsesBy.get(tunnel) ?? 0), 0)

    await using visitor = await chromium.visitor()
    const { page } = visitor
    const { cookie = '' } = await signIn(web.url)
    const [name = '', value = ''] = cookie.split('=')
    await page.context().addCookies([{ name, value, url: web.url }])
    visitor.allowTrouble(/^failed: GET .*ERR_ABORTED/)
    for (const range of ['15m', '1h', '24h', '7d']) {
      await page.goto(`${web.url}/console?range=${range}`)
      const rows = page.getByRole('table', { name: 'Envelopes by result' }).getByRole('row')
      const counts = async () => {
        const cells = await rows.evaluateAll((all) =>
          all.map((row) => Number(row.querySelector('td')?.textContent?.replaceAll(',', '') ?? 0)),
        )
        const total = cells.at(-1) ?? 0
        return { total, sum: cells.slice(0, -1).reduce((sum, count) => sum + count, 0) }
      }
      // A tunnel that was killed between its count and its response has counted one of the lost ones.
      await expect.poll(async () => (await counts()).total).toBeGreaterThanOrEqual(kept)
      const { total, sum } = await counts()
      expect(total, range).toBeLessThanOrEqual(responses + lost)
      expect(sum, range).toBe(total)
    }
  })
})
