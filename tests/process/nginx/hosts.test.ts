/** Host names and paths that nginx accepts. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRejection } from '../../support/nginx/expected-rejection.ts'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { post } from '../../support/post.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

describe('nginx with ALLOWED_HOSTS', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let nginx: Nginx
  let tunnel: Upstream

  beforeAll(async () => {
    tunnel = started.use(await startUpstream('tunnel'))
    const web = started.use(await startUpstream('web'))
    nginx = started.use(
      await startNginx({
        tunnels: [tunnel.address],
        web: web.address,
        env: {
          ALLOWED_HOSTS: 'shop.example *.eu.shop.example',
          TUNNEL_PATHS: '/monitoring|/.tunnel',
          DERIVED_PATHS: 'on',
          SENTRY_DSN: 'https://public@o1.ingest.us.sentry.io/2',
        },
      }),
    )
  })

  afterAll(() => started.disposeAsync())

  const send = (host: string, path = '/monitoring') => post(nginx.url, { path, headers: { host }, body: 'x' })

  it.each([
    ...[
      'shop.example',
      'Shop.example:8080',
      'de.eu.shop.example',
      'localhost:8080',
      'shop.localhost',
      'nginx',
    ],
    ...['127.0.0.1:8080', '[::1]:8080', 'mac.local', 'shop.test', 'box.home.arpa'],
  ])('accepts requests for %s', async (host) => {
    expect((await send(host)).status).toBe(200)
  })

  it.each([
    ...[
      'evil.example',
      'eu.shop.example',
      'shop.example.evil.example',
      '127.0.0.1.nip.io',
      'localhost.evil.example',
    ],
  ])('refuses requests for %s on every path', async (host) => {
    expectRejection(await send(host), 'host-unknown')
    expect((await send(host, '/')).status).toBe(403)
    expect((await send(host, '/console')).status).toBe(403)
  })

  it.each(['/.tunnel', '/.tunnel/', '/7y54ph', '/shop/7y54ph', '/shop/v1.0/7y54ph/'])(
    'sends %s to the tunnel',
    async (path) => {
      const before = tunnel.asked.length
      expect((await send('shop.example', path)).status).toBe(200)
      expect(tunnel.asked).toHaveLength(before + 1)
    },
  )

  it.each(['/xtunnel', '/.tunnelx', '/7y54phx', '/.git'])('does not send %s to the tunnel', async (path) => {
    const before = tunnel.asked.length
    await send('shop.example', path)
    expect(tunnel.asked).toHaveLength(before)
  })
})
