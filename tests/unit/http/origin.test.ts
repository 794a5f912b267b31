/** Origins whose posts are accepted. */

import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import { checkOrigin, corsHeaders } from '../../../tunnel/src/http/origin.ts'
import { Rejection } from '../../../tunnel/src/rejections.ts'
import { attempt } from '../../support/rejection.ts'

const NOBODY = new Set<string>()
const FRIENDS = new Set(['https://friend.example', 'null'])

describe('A post', () => {
  it.each<[string, IncomingHttpHeaders]>([
    [
      'of the same origin, says the browser',
      { 'sec-fetch-site': 'same-origin', origin: 'https://site.example', host: 'site.example' },
    ],
    [
      'of the same origin, whatever host the proxy names',
      { 'sec-fetch-site': 'same-origin', origin: 'https://site.example', host: 'tunnel:9090' },
    ],
    [
      "of the host's own origin, where the browser says nothing",
      { origin: 'https://site.example', host: 'site.example' },
    ],
    ['the same with a port', { origin: 'http://site.example:8080', host: 'site.example:8080' }],
    ['the same in another scheme', { origin: 'http://site.example', host: 'site.example' }],
    ['the same in capitals', { origin: 'https://Site.Example', host: 'SITE.example' }],
    ['the same on an IPv6 address', { origin: 'http://[::1]:8080', host: '[::1]:8080' }],
    ['of a server, which names no origin', { host: 'site.example' }],
  ])('%s is accepted without CORS headers', (_, headers) => {
    expect(corsHeaders(checkOrigin(headers, NOBODY))).toEqual({})
  })

  it.each<[string, IncomingHttpHeaders, string]>([
    [
      'of the same site only',
      { 'sec-fetch-site': 'same-site', origin: 'https://a.site.example', host: 'site.example' },
      'https://a.site.example',
    ],
    [
      'of another site',
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', host: 'site.example' },
      'https://evil.example',
    ],
    [
      'that claims our origin but not our site',
      { 'sec-fetch-site': 'cross-site', origin: 'https://site.example', host: 'site.example' },
      'https://site.example',
    ],
    ['of an origin that is null', { origin: 'null', host: 'site.example' }, 'null'],
    ['of another host', { origin: 'https://evil.example', host: 'site.example' }, 'https://evil.example'],
    [
      'of another port',
      { origin: 'https://site.example:8443', host: 'site.example' },
      'https://site.example:8443',
    ],
    [
      'of a host that begins like ours',
      { origin: 'https://site.example.evil.example', host: 'site.example' },
      'https://site.example.evil.example',
    ],
    [
      'of an origin with a path',
      { origin: 'https://site.example/', host: 'site.example' },
      'https://site.example/',
    ],
    [
      'of an extension',
      { origin: 'chrome-extension://site.example', host: 'site.example' },
      'chrome-extension://site.example',
    ],
    ['of an empty origin', { origin: '', host: 'site.example' }, ''],
    ['to no host', { origin: 'https://site.example' }, 'https://site.example'],
  ])('%s is rejected, and the rejection names the origin to allow', (_, headers, name) => {
    const rejection = attempt(() => checkOrigin(headers, NOBODY))
    expect(rejection).toMatchObject({ code: 'origin-foreign', causes: [`Its origin is ${name}.`] })
  })

  it.each<[string, IncomingHttpHeaders]>([
    ['of no page', { 'sec-fetch-site': 'none', host: 'site.example' }],
    ['of another site', { 'sec-fetch-site': 'cross-site', host: 'site.example' }],
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
    ['where the browser says nothing', { origin: 'https://friend.example', host: 'site.example' }],
  ])('from an allowed foreign origin is accepted: %s', (_, headers) => {
    expect(corsHeaders(checkOrigin(headers, FRIENDS))).toEqual({
      'access-control-allow-origin': 'https://friend.example',
      'access-control-expose-headers': 'x-sentry-error, x-sentry-rate-limits, retry-after',
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
