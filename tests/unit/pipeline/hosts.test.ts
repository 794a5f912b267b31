/** Host names by which a tunnel may be reached. */

import { describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { AllowedHosts } from '../../../tunnel/src/pipeline/hosts.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { exchangeRaw } from '../../support/raw-request.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

describe('ALLOWED_HOSTS', () => {
  const hosts = new AllowedHosts(['Shop.example', '*.eu.shop.example'])

  it.each([
    ...[
      'shop.example',
      'SHOP.example:8080',
      'shop.example.',
      'de.eu.shop.example',
      'a.b.eu.shop.example:443',
    ],
    ...['localhost:8080', 'shop.localhost', 'nginx:8081', 'mymac.local', 'shop.test', 'box.home.arpa'],
    ...['127.0.0.1:9090', '192.168.1.7', '[::1]:8080', '[2001:db8::1]', undefined],
  ])('allows %s', (host) => {
    expect(hosts.has(host)).toBe(true)
  })

  it.each([
    ...[
      'evil.example',
      'evil.example:8080',
      'shop.example.evil.example',
      'eu.shop.example',
      'xeu.shop.example',
    ],
    ...['localhost.evil.example', '127.0.0.1.evil.example', 'evil.com', '127.0.0.1.nip.io'],
  ])('refuses %s', (host) => {
    expect(hosts.has(host)).toBe(false)
  })

  it('allows every host when it is empty', () => {
    expect(new AllowedHosts([]).has('evil.example')).toBe(true)
  })

  it('makes a tunnel reject posts and scripts of another host', async () => {
    await using tunnel = await openTunnel({ env: { ALLOWED_HOSTS: 'shop.example' } })
    const send = (host: string, path = '/monitoring', method = 'POST') =>
      post(tunnel.url, { path, method, body: method === 'POST' ? errorOf(INBOX_DSN) : '', headers: { host } })
    expect((await send('shop.example')).status).toBe(200)
    expect(await send('evil.example')).toMatchObject({ status: 403, json: { code: 'host-unknown' } })
    expect(await send('evil.example', '/monitoring/sdk.js', 'GET')).toMatchObject({ status: 403 })
  })
})

describe('An admin port on loopback', () => {
  it.each([
    ['127.0.0.1:9091', 200],
    ['localhost:9091', 200],
    ['evil.example:9091', 403],
  ])('answers a request for %s with %i', async (host, status) => {
    await using tunnel = await openTunnel()
    const { port } = new URL((await tunnel.admin('/livez')).url)
    const answer = await exchangeRaw(
      Number(port),
      `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    )
    expect(String(answer)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })
})
