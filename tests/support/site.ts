/** Culvert as plain processes: nginx, the built web server and tunnels. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePort } from '../../scripts/start/free-port.ts'
import { SITE_HOST } from './browser/chromium.ts'
import { startNginx } from './nginx/nginx.ts'
import type { Sentry } from './sentry/sentry.ts'
import { makeMemoryFolder } from './temporary-folder.ts'
import { startTunnel } from './tunnel/tunnel.ts'
import { startWeb } from './web/web.ts'

export type SiteOptions = {
  /** Settings of all processes. Without a `SENTRY_DSN` they run in inbox mode, with one inbox for all tunnels. */
  env?: Record<string, string>
  /** Other destinations for the tunnels' connections, `{ 'o1.ingest.us.sentry.io:443': '127.0.0.1:41234' }`. */
  reroute?: Record<string, string>
  /** Number of tunnels; one by default. */
  replicas?: number
}

export type Site = Awaited<ReturnType<typeof startSite>>

const CLOUD_HOST = 'o123.ingest.us.sentry.io'

/** Returns options that make tunnels treat `sentry` (one with a certificate) as Sentry's cloud, organisation 123 in the US, with the error lab on. */
export function cloud(
  sentry: Sentry,
  env: Record<string, string> = {},
): Required<Pick<SiteOptions, 'env' | 'reroute'>> {
  return {
    env: { SENTRY_DSN: sentry.dsn('456', { host: CLOUD_HOST }), LAB: 'on', ...env },
    reroute: { [`${CLOUD_HOST}:443`]: `127.0.0.1:${sentry.port}` },
  }
}

/** Starts the site, builds web first if needed, and waits until all processes respond. `await using` stops it. */
export async function startSite({ env = {}, reroute = {}, replicas = 1 }: SiteOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeMemoryFolder())
  const settings = {
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    SPOOL_BYTES: String(64 * 1024 * 1024), // 64 MiB
    ...env,
  }

  const innerPort = await freePort()

  const start = async () => starting.use(await startTunnel({ env: settings, reroute }))
  const tunnel = await start()
  const tunnels = [tunnel, ...(await Promise.all(Array.from({ length: replicas - 1 }, start)))]
  const web = starting.use(
    await startWeb({
      TUNNEL_ORIGIN: `http://127.0.0.1:${innerPort}`,
      TUNNEL_ADMIN: tunnels.map(({ adminUrl }) => new URL(adminUrl).host).join(),
      ADMIN_TOKEN: tunnel.token,
      ...settings,
    }),
  )
  const addresses = tunnels.map(({ port }) => `127.0.0.1:${port}`)
  const nginx = starting.use(
    await startNginx({ tunnels: addresses, web: `127.0.0.1:${web.port}`, innerPort, env }),
  )
  const started = starting.move()
  return {
    port: nginx.port,
    /** URL for Chromium. */
    url: `http://${SITE_HOST}:${nginx.port}`,
    /** Origin for servers, TUNNEL_ORIGIN. */
    innerUrl: `http://127.0.0.1:${innerPort}`,
    /** The first tunnel. */
    tunnel,
    /** All tunnels. */
    tunnels,
    web,
    close: () => started.disposeAsync(),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
