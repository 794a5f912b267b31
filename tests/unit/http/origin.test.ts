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

const SITE = 'https://site.example'
const NOBODY = new Set<string>()
const FRIENDS = new Set(['https://friend.example', 'null'])

/** Returns the headers that are given. */
function headersOf(site?: string, origin?: string, host?: string): IncomingHttpHeaders {
  return {
    ...(site !== undefined && { 'sec-fetch-site': site }),
    ...(origin !== undefined && { origin }),
    ...(host !== undefined && { host }),
  }
}

describe('A post', () => {
  it.each<[string, site: string | undefined, origin: string | undefined, host: string]>([
    ['with Sec-Fetch-Site: same-origin', 'same-origin', SITE, 'site.example'],
    [
      'with Sec-Fetch-Site: same-origin and another Host, as behind a proxy,',
      'same-origin',
      SITE,
      'tunnel:9090',
    ],
    ['whose Origin matches its Host', undefined, SITE, 'site.example'],
    ['whose Origin and Host have the same port', undefined, 'http://site.example:8080', 'site.example:8080'],
    ['whose Host names the port of https', undefined, SITE, 'site.example:443'],
    ['whose Host names the port of http', undefined, 'http://site.example', 'Site.example:80'],
    ['whose Origin names the port of https', undefined, 'https://[2001:db8::1]:443', '[2001:db8::1]'],
    ['whose Origin has the scheme http', undefined, 'http://site.example', 'site.example'],
    ['whose Origin and Host differ in case', undefined, 'https://Site.Example', 'SITE.example'],
    ['whose Origin and Host are an IPv6 address', undefined, 'http://[::1]:8080', '[::1]:8080'],
    ['of a server without an Origin header', undefined, undefined, 'site.example'],
  ])('%s is accepted without CORS headers', (_, site, origin, host) => {
    expect(corsHeaders(checkOrigin(headersOf(site, origin, host), NOBODY))).toEqual({})
  })

  it.each<[string, site: string | undefined, origin: string, host?: string]>([
    ['with Sec-Fetch-Site: same-site', 'same-site', 'https://a.site.example', 'site.example'],
    ['with Sec-Fetch-Site: cross-site', 'cross-site', 'https://evil.example', 'site.example'],
    ['with Sec-Fetch-Site: cross-site and the origin of this site', 'cross-site', SITE, 'site.example'],
    ['from the origin null', undefined, 'null', 'site.example'],
    ['from another host', undefined, 'https://evil.example', 'site.example'],
    ['from another port', undefined, 'https://site.example:8443', 'site.example'],
    ['from http, while Host names the port of https', undefined, 'http://site.example', 'site.example:443'],
    ['from an origin with a user name', undefined, 'https://site.example@evil.example', 'evil.example'],
    ['from a host that begins like this one', undefined, 'https://site.example.evil.example', 'site.example'],
    ['from an origin with a path', undefined, 'https://site.example/', 'site.example'],
    ['from a browser extension', undefined, 'chrome-extension://site.example', 'site.example'],
    ['with an empty Origin header', undefined, '', 'site.example'],
    ['without a Host header', undefined, SITE],
  ])('%s is rejected, and the rejection names the origin to allow', (_, site, origin, host) => {
    const rejection = attempt(() => checkOrigin(headersOf(site, origin, host), NOBODY))
    expect(rejection).toMatchObject({ code: 'origin-foreign', causes: [`Its origin is ${origin}.`] })
  })

  it.each(['none', 'cross-site'])(
    'with Sec-Fetch-Site: %s without an Origin header is rejected, and the rejection says so',
    (site) => {
      const rejection = attempt(() => checkOrigin(headersOf(site, undefined, 'site.example'), NOBODY))
      const causes = ['The request has no Origin header.']
      expect(rejection).toMatchObject({ code: 'origin-foreign', causes })
    },
  )

  it.each(['same-site', 'cross-site', undefined])(
    'from an allowed foreign origin is accepted with Sec-Fetch-Site: %s',
    (site) => {
      const headers = headersOf(site, 'https://friend.example', 'site.example')
      expect(corsHeaders(checkOrigin(headers, FRIENDS))).toEqual({
        'access-control-allow-origin': 'https://friend.example',
        'access-control-expose-headers':
          'x-sentry-error, x-sentry-rate-limits, retry-after, x-culvert-outcome',
        vary: 'origin',
      })
    },
  )

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
