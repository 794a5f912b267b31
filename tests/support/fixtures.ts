/** Fixtures that the tests of a file share: a folder, and a Sentry, a tunnel, nginx and a site as processes. */

import { test } from 'vitest'
import { endWith, perFile } from './lifetime.ts'
import { type NginxOptions, startNginx } from './nginx/nginx.ts'
import { type SentryOptions, startSentry } from './sentry/sentry.ts'
import { cloud, type SiteOptions, startSite } from './site.ts'
import { makeFolder } from './temporary-folder.ts'
import { startTunnel, type TunnelOptions } from './tunnel/tunnel.ts'

/** Starts nothing that no test names. A file changes the options by `it.extend`. */
export const it = test
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of other fixtures from the pattern
  .extend('folder', perFile, async ({}, lifetime) => endWith(lifetime, await makeFolder()).path)
  .extend('sentryOptions', perFile, (): SentryOptions => ({}))
  .extend('sentry', perFile, async ({ sentryOptions }, lifetime) =>
    endWith(lifetime, await startSentry(sentryOptions)),
  )
  .extend('tunnelOptions', perFile, ({ sentry }): TunnelOptions => ({ env: { SENTRY_DSN: sentry.dsn() } }))
  .extend('tunnel', perFile, async ({ tunnelOptions }, lifetime) =>
    endWith(lifetime, await startTunnel(tunnelOptions)),
  )
  /** In front of the tunnel, without web. */
  .extend('nginxOptions', perFile, ({ tunnel }): NginxOptions => {
    return { tunnels: [`127.0.0.1:${tunnel.port}`], web: '127.0.0.1:1' }
  })
  .extend('nginx', perFile, async ({ nginxOptions }, lifetime) =>
    endWith(lifetime, await startNginx(nginxOptions)),
  )
  .extend('siteOptions', perFile, ({ sentry }): SiteOptions => cloud(sentry))
  .extend('site', perFile, async ({ siteOptions }, lifetime) =>
    endWith(lifetime, await startSite(siteOptions)),
  )
