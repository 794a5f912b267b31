/** Configuration of the tunnel from its environment. */

import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { deriveAdminToken } from '../../../contract/admin-token.ts'
import { formatDsn, INBOX_DSN } from '../../../contract/dsn.ts'
import type { Environment } from '../../../contract/settings.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { problemsOf } from '../../support/tunnel/problems.ts'

const DSN = 'https://key@o1.ingest.us.sentry.io/2'

describe('The configuration', () => {
  it('is inbox mode on loopback with a closed admin port when no variable is set', () => {
    const config = readConfig({})
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 9090,
      adminHost: '127.0.0.1',
      adminPort: 9091,
      adminToken: undefined,
      forward: false,
      keep: { keeping: 'all', bytes: 256 * 1024 * 1024, ageMs: 168 * 3_600_000 },
      tunnelPaths: ['/monitoring'],
      edge: ['127.0.0.0/8', '::1'],
      allowedOrigins: { size: 0 },
      logLevel: 'info',
    })
    expect(config.dsns.map(formatDsn)).toEqual([INBOX_DSN])
  })

  it('keeps nothing when a DSN is set, unless KEEP_HOURS is above 0', () => {
    expect(readConfig({ SENTRY_DSN: DSN })).toMatchObject({ forward: true, keep: undefined })
    expect(readConfig({ SENTRY_DSN: DSN, KEEP_HOURS: '1' })).toMatchObject({
      forward: true,
      keep: { keeping: 'errors', bytes: 256 * 1024 * 1024, ageMs: 3_600_000 },
    })
  })

  it('has a twentieth of a large spool for what is kept', () => {
    const SPOOL_BYTES = String(100 * 1024 ** 3)
    expect(readConfig({ SPOOL_BYTES }).keep).toMatchObject({ bytes: 5 * 1024 ** 3 })
  })

  it('shows for how many hours envelopes are kept', () => {
    const shown = (env: Environment) => readConfig(env).shown.KEEP_HOURS
    expect([shown({}), shown({ SENTRY_DSN: DSN }), shown({ KEEP_HOURS: '9' })]).toEqual(['168', '0', '9'])
  })

  it.each<[Environment, object]>([
    [{ HOST: '0.0.0.0' }, { host: '0.0.0.0', adminHost: '0.0.0.0' }],
    [
      { HOST: '0.0.0.0', ADMIN_PORT: 'tunnel-admin:9091' },
      { host: '0.0.0.0', adminHost: 'tunnel-admin' },
    ],
    [
      { PORT: '80', ADMIN_PORT: '81' },
      { port: 80, adminPort: 81 },
    ],
    [{ ADMIN_PORT: '[::1]:81' }, { adminHost: '::1', adminPort: 81 }],
    [{ EDGE: '10.0.0.0/8 fd00::/8' }, { edge: ['10.0.0.0/8', 'fd00::/8'] }],
    [{ TRUSTED_PROXIES: '10.0.0.0/8' }, { edge: ['127.0.0.0/8', '::1', '10.0.0.0/8'] }],
    [{ EDGE: '127.0.0.1', TRUSTED_PROXIES: '10.0.0.0/8' }, { edge: ['127.0.0.1'] }],
    [{ ALLOWED_ORIGINS: 'https://a.example,http://b.example:8080 null' }, { allowedOrigins: { size: 3 } }],
    [{ LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
    [
      { HOST: '192.0.2.1', PORT: '80', ADMIN_PORT: '192.0.2.2:80' },
      { port: 80, adminPort: 80 },
    ],
  ])('accepts %j', (env, part) => {
    expect(readConfig(env)).toMatchObject(part)
  })

  it('derives the admin token from OPERATOR_PASSWORD unless ADMIN_TOKEN is set', () => {
    const token = deriveAdminToken('correct horse')
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    expect(readConfig({ OPERATOR_PASSWORD: 'correct horse' }).adminToken).toBe(token)
    expect(readConfig({ OPERATOR_PASSWORD: 'another horse' }).adminToken).not.toBe(token)
    expect(readConfig({ OPERATOR_PASSWORD: 'correct horse', ADMIN_TOKEN: 'mine' }).adminToken).toBe('mine')
  })

  it.each([
    ['PORT', '-1', 'PORT: "-1" is not a port; write a whole number from 0 to 65535'],
    ['ADMIN_PORT', '65536', 'ADMIN_PORT: "65536" is not a port'],
    ['PORT', 'http', 'PORT: "http" is not a port'],
    ['EDGE', 'nginx', 'EDGE: "nginx" is not a network'],
    ['KEEP_HOURS', '721', 'KEEP_HOURS: "721" is not a number of hours'],
    ['KEEP_HOURS', '0', 'KEEP_HOURS: 0 keeps nothing, but without SENTRY_DSN the inbox is where'],
    ['SPOOL_BYTES', '1', 'SPOOL_BYTES: "1" is not a number of bytes'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL: "loud" is '],
    ...[
      ...['https://a.example/', 'a.example', 'https://a.example:443', 'https://', 'https://*', '*'],
      ...['https://*a.example', 'https://a.*.example', 'https://*.0.0.1', 'app://shop/x'],
      ...['https://*.example', 'https://A.example'],
    ].map((value) => [
      'ALLOWED_ORIGINS',
      value,
      `ALLOWED_ORIGINS: "${value}" is not an origin; write https://other.example`,
    ]),
    ['SENTRY_DSN', 'hello', 'SENTRY_DSN: "hello" is not a DSN'],
    ['SCRUB', 'on', 'SCRUB: "on" is not known; write off, or default or strict'],
  ])('rejects %s=%s and says what to write', (name = '', value = '', words = '') => {
    const problems = problemsOf({ [name]: value })
    expect(problems).toHaveLength(1)
    expect(problems[0]?.startsWith(words)).toBe(true)
  })

  it('rejects a file of scrubbing rules with line and column, and one that has no effect', () => {
    const readme = fileURLToPath(new URL('../../../README.md', import.meta.url))
    const rules = fileURLToPath(new URL('../../fixtures/scrub-rules.json', import.meta.url))
    expect(problemsOf({ SCRUB: 'strict', SCRUB_RULES: readme })).toEqual([
      `SCRUB_RULES: "${readme}" line 1, column 1: this is not JSON; docs/privacy.md describes the format`,
    ])
    expect(problemsOf({ SCRUB: 'strict', SCRUB_RULES: '/nonexistent' })).toEqual([
      'SCRUB_RULES: "/nonexistent" cannot be read; write the path of a file that this process may read',
    ])
    expect(problemsOf({ SCRUB_RULES: rules })).toEqual([
      `SCRUB_RULES: "${rules}" needs scrubbing; set SCRUB to default or strict`,
    ])
    expect(problemsOf({ SCRUB: 'off pseudonyms', ADMIN_TOKEN: 'a'.repeat(20) })).toEqual([
      'SCRUB: "off pseudonyms" is not known; write off, or default or strict, followed by some of observe, drop-attachments, pseudonyms',
    ])
    expect(readConfig({ SCRUB: 'strict', SCRUB_RULES: rules }).scrub).toMatchObject({
      level: 'strict',
      mode: 'enforce',
    })
  })

  it.each([
    ['', '–'],
    ['localhost, web-crawlers -csp-blob', 'localhost web-crawlers -csp-blob'],
    ['report-crash\nlocalhost', 'report-crash localhost'],
  ])('reads the names of filters: %j', (FILTERS, shown) => {
    const config = readConfig({ FILTERS })
    expect(config.shown.FILTERS).toBe(shown)
    expect(readConfig({ FILTERS: shown.replace('–', '') }).filters).toEqual(config.filters)
  })

  it('reads globs with spaces and commas, one a line or separated by bars', () => {
    const env = {
      FILTER_ERROR_MESSAGES: 'a, b c | *d*',
      FILTER_RELEASES: 'x\ny@1.*',
      FILTER_ADDRESSES: '::1',
    }
    expect(readConfig(env).filters).toMatchObject({
      ...{ messages: ['a, b c', '*d*'], releases: ['x', 'y@1.*'], addresses: ['::1'] },
    })
  })

  it.each([
    ['FILTERS', 'spiders', 'FILTERS: "spiders" is not known; write some of browser-extensions,'],
    ['FILTERS', '-message', 'FILTERS: "-message" is not known'],
    ['FILTER_ADDRESSES', 'here', 'FILTER_ADDRESSES: "here" is not a network'],
    ['SCRUB', 'observe', 'SCRUB: "observe" is not known; write off, or default or strict, followed by'],
    ['SCRUB', 'strict enforce', 'SCRUB: "strict enforce" is not known'],
    ['STORM_LIMIT', 'enforce', 'STORM_LIMIT: "enforce" is not a number of identical errors a minute'],
    ['STORM_LIMIT', '100 off', 'STORM_LIMIT: "100 off" is not a number'],
  ])('rejects %s=%s', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringContaining(problem)])
  })

  it('reads the mode of scrubbing and of storms beside their values', () => {
    expect(readConfig({ SCRUB: 'strict observe drop-attachments' }).scrub).toMatchObject({
      ...{ level: 'strict', mode: 'observe', attachments: 'drop', users: { kind: 'remove' } },
    })
    expect(readConfig({}).storm).toMatchObject({ limit: 100, mode: 'observe' })
    expect(readConfig({ STORM_LIMIT: '5 enforce' }).storm).toMatchObject({ limit: 5, mode: 'enforce' })
  })

  it('derives the key of pseudonyms from the secret that the replicas share', () => {
    const keyOf = (env: Record<string, string>) =>
      readConfig({ SCRUB: 'default pseudonyms', ...env }).scrub?.users
    const ofPassword = keyOf({ OPERATOR_PASSWORD: 'correct-horse-battery' })
    expect(ofPassword).toEqual({ kind: 'hash', key: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(keyOf({ OPERATOR_PASSWORD: 'correct-horse-battery' })).toEqual(ofPassword)
    expect(keyOf({ ADMIN_TOKEN: 'a'.repeat(32) })).not.toEqual(ofPassword)
    expect(problemsOf({ SCRUB: 'default pseudonyms' })).toEqual([
      'SCRUB: "pseudonyms" need a secret that all replicas share; set OPERATOR_PASSWORD or ADMIN_TOKEN',
    ])
  })

  it('reports all problems at once, without secrets', () => {
    const problems = problemsOf({
      SENTRY_DSN: 'https://key:hush@',
      PORT: 'x',
      ADMIN_PORT: 'y',
      EDGE: 'z',
      TUNNEL_PATHS: '?',
      ALLOWED_ORIGINS: '*',
      LOG_LEVEL: 'loud',
      OPERATOR_PASSWORD: 'hush',
      ADMIN_TOKEN: 'hush',
    })
    expect(problems.map((problem) => problem.split(':')[0]).sort()).toEqual(
      [
        ...['SENTRY_DSN', 'PORT', 'ADMIN_PORT', 'EDGE', 'TUNNEL_PATHS', 'ALLOWED_ORIGINS', 'LOG_LEVEL'],
        'OPERATOR_PASSWORD',
      ].sort(),
    )
    expect(problems.join()).not.toContain('hush')
  })
})

describe('SPOOL_BYTES of a spool on NATS', () => {
  it('is shown as the limit of the stream when it is not set', () => {
    const { SPOOL_BYTES } = readConfig({ SENTRY_DSN: DSN, SPOOL_URL: 'nats://nats.example' }).shown
    expect(SPOOL_BYTES).toBe('as its stream has it, 5 GiB for a new one')
  })
})

describe('HTTPS_PROXY', () => {
  it.each([
    ['foo', '"foo" is not a proxy'],
    ['ftp://proxy.example', '"ftp://proxy.example" is not a proxy'],
    ['user:secret@', '"…@" is not a proxy'],
    ['http://user:se/cr@et@proxy:3128', '"http://…@proxy:3128" is not a proxy'],
  ])('is rejected as %s, in a message without the password', (given, words) => {
    const sentence = `HTTPS_PROXY: ${words}; write it like http://proxy.example:3128`
    expect(() => readConfig({ HTTPS_PROXY: given })).toThrow(sentence)
  })

  it.each(['http://me:p@ss@proxy:3128', 'http://me:pass@proxy:3128'])(
    'is shown without credentials: %s',
    (given) => {
      const { HTTPS_PROXY } = readConfig({ HTTPS_PROXY: given }).shown
      expect(HTTPS_PROXY).toBe('http://…@proxy:3128')
    },
  )

  it.each(['http://proxy:3128', 'proxy.example:3128', 'http://user:secret@proxy.example:3128'])(
    'is accepted as %s',
    (given) => {
      expect(readConfig({ https_proxy: given }).upstream.proxies?.httpsProxy).toContain('3128')
    },
  )
})
