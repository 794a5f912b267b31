/** Origins whose posts are accepted. */

import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { Rejection } from '../../../contract/rejections.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { checkOrigin, corsHeaders } from '../../../tunnel/src/http/origin.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { attempt } from '../../support/rejection.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const NOBODY = new Set<string>()
const FRIENDS = new Set(['https://friend.example', 'null'])

describe('A post', () => {
  it.each<[string, IncomingHttpHeaders]>([
    [
      'with Sec-Fetch-Site: same-origin',
      { 'sec-fetch-site': 'same-origin', origin: 'https://site.example', host: 'site.example' },
    ],
    [
      'with Sec-Fetch-Site: same-origin and another Host, as behind a proxy,',
      { 'sec-fetch-site': 'same-origin', origin: 'https://site.example', host: 'tunnel:9090' },
    ],
    [
      'without Sec-Fetch-Site whose Origin matches its Host',
      { origin: 'https://site.example', host: 'site.example' },
    ],
    [
      'without Sec-Fetch-Site whose Origin and Host have the same port',
      { origin: 'http://site.example:8080', host: 'site.example:8080' },
    ],
    [
      'without Sec-Fetch-Site whose Host names the port of https',
      { origin: 'https://site.example', host: 'site.example:443' },
    ],
    [
      'without Sec-Fetch-Site whose Host names the port of http',
      { origin: 'http://site.example', host: 'Site.example:80' },
    ],
    [
      'without Sec-Fetch-Site whose Origin names the port of https',
      { origin: 'https://[2001:db8::1]:443', host: '[2001:db8::1]' },
    ],
    [
      'without Sec-Fetch-Site whose Origin has the scheme http',
      { origin: 'http://site.example', host: 'site.example' },
    ],
    [
      'without Sec-Fetch-Site whose Origin and Host differ in case',
      { origin: 'https://Site.Example', host: 'SITE.example' },
    ],
    [
      'without Sec-Fetch-Site whose Origin and Host are an IPv6 address',
      { origin: 'http://[::1]:8080', host: '[::1]:8080' },
    ],
    ['of a server without an Origin header', { host: 'site.example' }],
  ])('%s is accepted without CORS headers', (_, headers) => {
    expect(corsHeaders(checkOrigin(headers, NOBODY))).toEqual({})
  })

  it.each<[string, IncomingHttpHeaders, string]>([
    [
      'with Sec-Fetch-Site: same-site',
      { 'sec-fetch-site': 'same-site', origin: 'https://a.site.example', host: 'site.example' },
      'https://a.site.example',
    ],
    [
      'with Sec-Fetch-Site: cross-site',
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', host: 'site.example' },
      'https://evil.example',
    ],
    [
      'with Sec-Fetch-Site: cross-site and the origin of this site',
      { 'sec-fetch-site': 'cross-site', origin: 'https://site.example', host: 'site.example' },
      'https://site.example',
    ],
    ['from the origin null', { origin: 'null', host: 'site.example' }, 'null'],
    ['from another host', { origin: 'https://evil.example', host: 'site.example' }, 'https://evil.example'],
    [
      'from another port',
      { origin: 'https://site.example:8443', host: 'site.example' },
      'https://site.example:8443',
    ],
    [
      'from http, while Host names the port of https',
      { origin: 'http://site.example', host: 'site.example:443' },
      'http://site.example',
    ],
    [
      'from an origin with a user name',
      { origin: 'https://site.example@evil.example', host: 'evil.example' },
      'https://site.example@evil.example',
    ],
    [
      'from a host that begins like this one',
      { origin: 'https://site.example.evil.example', host: 'site.example' },
      'https://site.example.evil.example',
    ],
    [
      'from an origin with a path',
      { origin: 'https://site.example/', host: 'site.example' },
      'https://site.example/',
    ],
    [
      'from a browser extension',
      { origin: 'chrome-extension://site.example', host: 'site.example' },
      'chrome-extension://site.example',
    ],
    ['with an empty Origin header', { origin: '', host: 'site.example' }, ''],
    ['without a Host header', { origin: 'https://site.example' }, 'https://site.example'],
  ])('%s is rejected, and the rejection names the origin to allow', (_, headers, name) => {
    const rejection = attempt(() => checkOrigin(headers, NOBODY))
    expect(rejection).toMatchObject({ code: 'origin-foreign', causes: [`Its origin is ${name}.`] })
  })

  it.each<[string, IncomingHttpHeaders]>([
    ['with Sec-Fetch-Site: none', { 'sec-fetch-site': 'none', host: 'site.example' }],
    ['with Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site', host: 'site.example' }],
  ])('%s without an Origin header is rejected, and the rejection says so', (_, headers) => {
    const rejection = attempt(() => checkOrigin(headers, NOBODY))
    const causes = ['The request has no Origin header.']
    expect(rejection).toMatchObject({ code: 'origin-foreign', causes })
  })

  it.each<[string, IncomingHttpHeaders]>([
    ['same-site', { 'sec-fetch-site': 'same-site', origin: 'https://friend.example', host: 'site.example' }],
    [
      'cross-site',
      { 'sec-fetch-site': 'cross-site', origin: 'https://friend.example', host: 'site.example' },
    ],
    ['without Sec-Fetch-Site', { origin: 'https://friend.example', host: 'site.example' }],
  ])('from an allowed foreign origin is accepted: %s', (_, headers) => {
    expect(corsHeaders(checkOrigin(headers, FRIENDS))).toEqual({
      'access-control-allow-origin': 'https://friend.example',
      'access-control-expose-headers': 'x-sentry-error, x-sentry-rate-limits, retry-after, x-culvert-outcome',
      vary: 'origin',
    })
  })

  it('from the origin null is accepted when ALLOWED_ORIGINS contains null', () => {
    expect(checkOrigin({ 'sec-fetch-site': 'cross-site', origin: 'null' }, FRIENDS)).toBe('null')
  })

  it.each([
    'http://friend.example',
    'https://friend.example:8443',
    'https://www.friend.example',
    'https://friend.example.evil.example',
  ])('from %s is rejected although it resembles an allowed origin', (origin) => {
    expect(() => checkOrigin({ origin, host: 'site.example' }, FRIENDS)).toThrow(Rejection)
  })

  it('from an origin of 10,000 characters is rejected in less than 400', () => {
    const rejection = attempt(() =>
      checkOrigin({ origin: `https://${'x'.repeat(10_000)}`, host: 'a' }, NOBODY),
    )
    expect(JSON.stringify(rejection).length).toBeLessThan(400)
  })
})

describe('ALLOWED_ORIGINS', () => {
  it.each([
    ['capacitor://localhost', ['capacitor://localhost'], ['capacitor://other', 'null', 'http://localhost']],
    ['file://', ['file://'], ['null', 'http://file']],
    ['null', ['null'], ['file://', 'https://null']],
    [
      'chrome-extension://abcdefghijklmnop',
      ['chrome-extension://abcdefghijklmnop'],
      ['moz-extension://abcdefghijklmnop'],
    ],
    ['moz-extension://*', ['moz-extension://0f3a'], ['chrome-extension://0f3a', 'moz-extension://a/b']],
    ['app://Shop.', ['app://Shop.', 'app://shop.'], ['app://shop']],
    [
      'https://*.shop.example',
      ['https://de.shop.example', 'https://a.b-c.shop.example'],
      [
        'https://shop.example',
        'https://shop.example.evil.example',
        'https://evilshop.example',
        'https://.shop.example',
        'https://evil.example/.shop.example',
        'https://evil.example#.shop.example',
        'https://*.shop.example',
        'http://de.shop.example',
        'https://de.shop.example:8443',
      ],
    ],
    [
      'http://*.localhost:3000',
      ['http://shop.localhost:3000'],
      ['http://localhost:3000', 'http://shop.localhost'],
    ],
  ])('of %s allows what it names, and nothing else', async (entry, allowed, others) => {
    const { allowedOrigins } = readConfig({ ALLOWED_ORIGINS: entry })
    const isAllowed = (origin: string) => {
      const headers = { origin, host: 'site.example', 'sec-fetch-site': 'cross-site' }
      return !(attempt(() => checkOrigin(headers, allowedOrigins)) instanceof Rejection)
    }
    expect(allowed.filter((origin) => !isAllowed(origin))).toEqual([])
    expect(others.filter(isAllowed)).toEqual([])
  })

  it('makes the response to a packaged app readable', async () => {
    await using tunnel = await openTunnel({ env: { ALLOWED_ORIGINS: 'capacitor://localhost' } })
    const headers = {
      origin: 'capacitor://localhost',
      host: 'errors.example',
      'sec-fetch-site': 'cross-site',
    }
    const answered = await post(tunnel.url, { body: errorOf(INBOX_DSN), headers })
    expect(answered).toMatchObject({
      status: 200,
      headers: { 'access-control-allow-origin': 'capacitor://localhost' },
    })
  })
})

describe('The receipt of an envelope', () => {
  it.each([
    [
      'has the origin of its page',
      { origin: 'https://site.example', host: 'site.example' },
      'https://site.example',
    ],
    ['has no origin when the sender names none', { host: 'site.example' }, undefined],
  ])('%s', async (_, headers, origin) => {
    await using tunnel = await openTunnel()
    const { headers: answered } = await post(tunnel.url, { body: errorOf(INBOX_DSN), headers })
    const receipt = await (await tunnel.admin(`/receipts/${answered['x-culvert-receipt']}`)).json()
    expect(receipt.origin).toBe(origin)
  })
})
