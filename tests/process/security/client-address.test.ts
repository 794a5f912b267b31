/** `CLIENT_ADDRESS` covers everything that nginx and a tunnel write and send. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { startNginx } from '../../support/nginx/nginx.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const ADDRESS = '203.0.113.77'

describe('With CLIENT_ADDRESS', requires('nginx'), () => {
  it.each([
    ['forward', ['access log', 'spool and inbox', 'Sentry']],
    ['truncate', []],
    ['omit', []],
  ])('%s, the whole address is in: %j', async (mode, expected) => {
    await using folder = await makeFolder()
    await using sentry = await startSentry()
    const env = { CLIENT_ADDRESS: mode, TRUSTED_PROXIES: '127.0.0.0/8' }
    const tunnel = await startTunnel({
      env: {
        ...env,
        SENTRY_DSN: sentry.dsn(),
        SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
        KEEP_HOURS: '1',
        LOG_LEVEL: 'debug',
      },
    })
    await using _tunnel = { [Symbol.asyncDispose]: tunnel.kill }
    await using nginx = await startNginx({
      tunnels: [`127.0.0.1:${tunnel.port}`],
      web: '127.0.0.1:9', // no web
      env,
    })
    const request = { path: '/monitoring?p=456', headers: { 'x-forwarded-for': ADDRESS } }
    const kept = await post(nginx.url, { ...request, body: errorOf(sentry.dsn()) })
    sentry.answer({ status: 503 })
    const spooled = await post(nginx.url, {
      ...request,
      body: errorOf(sentry.dsn(), { event_id: 'a'.repeat(32) }),
    })
    const rejected = await post(nginx.url, { ...request, body: 'no envelope' })
    expect([kept.status, spooled.status, rejected.status]).toEqual([200, 200, 400])
    await until(async () => nginx.logged().length === 3)
    const written = {
      'access log': readFileSync(nginx.accessLog, 'utf8') + nginx.stderr.join('\n'),
      'log of the tunnel': JSON.stringify(tunnel.logs),
      'spool and inbox': readdirSync(folder.path, { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile())
        .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'))
        .join(),
      Sentry: JSON.stringify(sentry.requests.map(({ headers }) => headers)),
    }
    expect(
      Object.entries(written)
        .filter(([, text]) => text.includes(ADDRESS))
        .map(([name]) => name),
    ).toEqual(expected)
  })
})
