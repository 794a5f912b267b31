/** Parser and formatter of DSNs, and the paths and identifiers derived from them. */

import { dsnToString, makeDsn } from '@sentry/core'
import { describe, expect, it } from 'vitest'
import {
  derivedPaths,
  formatDsn,
  identifiersOf,
  originOf,
  parseDsn,
  readDsns,
  tunnelUrl,
} from '../../../contract/dsn.ts'

describe('A DSN', () => {
  it.each([
    [
      'a host of sentry.io',
      'https://key@o1.ingest.us.sentry.io/2',
      { host: 'o1.ingest.us.sentry.io', projectId: '2' },
    ],
    ['a port', 'http://key@sentry.example:9000/2', { protocol: 'http', port: '9000' }],
    ['the highest port', 'http://key@sentry.example:65535/2', { port: '65535' }],
    ['a path before the project', 'https://key@sentry.example/a/b/7', { path: 'a/b', projectId: '7' }],
    ['an IPv4 address', 'http://key@10.0.0.1/7', { host: '10.0.0.1' }],
    ['an IPv6 address', 'http://key@[::1]:9000/7', { host: '[::1]', port: '9000' }],
    [
      'a host in capitals, which is lower-cased',
      'HTTPS://Key@Sentry.Example/7',
      { publicKey: 'Key', host: 'sentry.example' },
    ],
    ['the default port, which is left out', 'https://key@sentry.example:443/7', { port: '' }],
    ['a doubled slash', 'http://key@sentry.example:9000//7', { path: '', projectId: '7' }],
    ['doubled slashes in its path', 'http://key@sentry.example//a//b//7', { path: 'a/b', projectId: '7' }],
    ['a query', 'https://key@sentry.example/7?x=y', { path: '', projectId: '7' }],
    ['a fragment', 'https://key@sentry.example/a/7#x', { path: 'a', projectId: '7' }],
    ['letters after the project', 'https://key@sentry.example/7x', { projectId: '7' }],
  ])('is accepted with %s', (_, text, parts) => {
    expect(parseDsn(text)).toMatchObject(parts)
  })

  it('is accepted with a legacy secret, which is not kept', () => {
    const dsn = parseDsn('https://key:secret@sentry.example/7')
    expect(JSON.stringify(dsn)).not.toContain('secret')
    expect(dsn && formatDsn(dsn)).toBe('https://key@sentry.example/7')
    expect(parseDsn('https://key:@sentry.example/7')).toEqual(dsn)
  })

  it.each([
    ['empty', ''],
    ['text', 'hello'],
    ['a URL without a key', 'https://sentry.example/7'],
    ['another scheme', 'ftp://key@sentry.example/7'],
    ['no project', 'https://key@sentry.example/'],
    ['a project of letters', 'https://key@sentry.example/seven'],
    ['digits of another script', 'https://key@sentry.example/７'],
    ['a query with a slash', 'https://key@sentry.example/7?x=y/z'],
    ['a query before the project', 'https://key@sentry.example/?x=y/7'],
    ['a trailing slash', 'https://key@sentry.example/7/'],
    ['a trailing newline', 'https://key@sentry.example/7\n'],
    ['a leading space', ' https://key@sentry.example/7'],
    ['a second @', 'https://key@sentry.example@evil.example/7'],
    ['a port above 65535', 'https://key@sentry.example:65536/7'],
    ['a port of letters', 'https://key@sentry.example:x/7'],
    ['a segment .. in its path', 'https://key@sentry.example/a/../7'],
    ['a segment . in its path', 'https://key@sentry.example/./7'],
    ['an escape in its path', 'https://key@sentry.example/%2e%2e/7'],
    ['an escape in its host', 'https://key@sentry%2eexample/7'],
    ['a key with a dash', 'https://ke-y@sentry.example/7'],
    ['a backslash', 'https://key@sentry.example\\7'],
  ])('is rejected when it is or has: %s', (_, text) => {
    expect(parseDsn(text)).toBeUndefined()
  })

  it.each([
    'https://key@o1.ingest.us.sentry.io/2',
    'http://key@sentry.example:9000/a/b/7',
    'http://key@[::1]:9000/7',
    'https://key@sentry.example/12345678901234567890',
  ])('%s is formatted as it was parsed', (text) => {
    const dsn = parseDsn(text)
    expect(dsn && formatDsn(dsn)).toBe(text)
  })

  it.each([
    ['https://key@o1.ingest.us.sentry.io/2', 'https://o1.ingest.us.sentry.io', '/monitoring?p=2&o=1&r=us'],
    ['https://key@o1.ingest.sentry.io/2', 'https://o1.ingest.sentry.io', '/monitoring?p=2&o=1'],
    ['http://key@sentry.example:9000/a/7', 'http://sentry.example:9000', '/monitoring?p=7'],
    [
      'https://key@o1.ingest.us.sentry.io.evil.example/2',
      'https://o1.ingest.us.sentry.io.evil.example',
      '/monitoring?p=2',
    ],
    ['https://key@o1.ingest.usa.sentry.io/2', 'https://o1.ingest.usa.sentry.io', '/monitoring?p=2'],
  ])('%s has the origin %s and the tunnel URL %s', (text, origin, url) => {
    const dsn = parse(text)
    expect(originOf(dsn)).toBe(origin)
    expect(tunnelUrl('/monitoring', dsn)).toBe(url)
    expect(url).toContain(`p=${identifiersOf(dsn).p}`)
  })

  it.each([
    ['https://public@o1.ingest.us.sentry.io/2', '/7y54ph'],
    ['https://examplePublicKey@o0.ingest.sentry.io/0', '/r9bok1'],
    ['https://public:secret@o1.ingest.us.sentry.io/2', '/7y54ph'],
  ])('%s has the derived path %s', (text, path) => {
    expect(derivedPaths(parse(text))).toEqual([path])
  })

  it.each([
    'https://public@o1.ingest.us.sentry.io:443/2',
    'https://Key:secret@O1.Ingest.Sentry.IO/2',
    'http://key@sentry.example:9000//2',
    'http://key@sentry.example//prefix//2',
    'http://key@sentry.example///2',
    'http://key@[2001:DB8::1]:80/a/b/2',
    'https://key@sentry.example/2?environment=shop',
    'https://key@sentry.example/2#shop',
    'https://key@sentry.example/2abc',
  ])('%s has the path that the SDK derives from it first, then that of its shortest spelling', (text) => {
    const asSdkReadsIt = makeDsn(text)
    if (!asSdkReadsIt) throw new Error('no DSN for the SDK')
    expect(derivedPaths(parse(text))[0]).toBe(hashOf(dsnToString(asSdkReadsIt)))
    expect(derivedPaths(parse(text)).at(-1)).toBe(hashOf(formatDsn(parse(text))))
  })
})

describe('SENTRY_DSN', () => {
  it.each([
    ['no value', undefined, []],
    ['white space', '  \n', []],
    ['one DSN', 'https://a@b.example/1', ['https://a@b.example/1']],
    [
      'several DSNs separated by commas and white space',
      ' https://a@b.example/1,https://c@d.example/2\n https://e@f.example/3 ,',
      ['https://a@b.example/1', 'https://c@d.example/2', 'https://e@f.example/3'],
    ],
  ])('accepts %s', (_, given, written) => {
    const problems: string[] = []
    expect(readDsns(given, problems).map(formatDsn)).toEqual(written)
    expect(problems).toEqual([])
  })

  it('reports each invalid DSN without its secret', () => {
    const problems: string[] = []
    const dsns = readDsns('https://key:hush@b.example/x https://a@b.example/1 hello', problems)
    expect(dsns.map(formatDsn)).toEqual(['https://a@b.example/1'])
    expect(problems).toEqual([
      expect.stringMatching(
        /^SENTRY_DSN: "https:\/\/key:…@b\.example\/x" is not a DSN; write it as Sentry shows it/,
      ),
      expect.stringMatching(/^SENTRY_DSN: "hello" is not a DSN; write it as Sentry shows it/),
    ])
  })
})

/** Returns the path for a text, as `getTunnelPath` of @sentry/core does. */
function hashOf(text: string): string {
  const hash = [...text].reduce((sum, char) => Math.imul(sum ^ char.charCodeAt(0), 16777619), 2166136261)
  return `/${(hash >>> 0).toString(36)}`
}

function parse(text: string) {
  const dsn = parseDsn(text)
  if (!dsn) throw new Error(`${text} is no DSN`)
  return dsn
}
