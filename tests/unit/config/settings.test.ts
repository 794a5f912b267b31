/** Settings that nginx, web and the tunnel share: accepted values, and messages for others. */

import { describe, expect, it } from 'vitest'
import type { Environment } from '../../../contract/settings.ts'
import { readSharedSettings, SettingsReader } from '../../../contract/settings-reader.ts'

describe('The shared settings', () => {
  it.each([{}, { TUNNEL_PATHS: '', TRUSTED_PROXIES: '', MAX_ENVELOPE_BYTES: '' }])(
    'have their defaults for %j',
    (env) => {
      expect(read(env)).toEqual({
        settings: {
          tunnelPaths: ['/monitoring'],
          derivedPaths: false,
          trustedProxies: [],
          maxEnvelopeBytes: 100 * 1024 * 1024,
        },
        problems: [],
      })
    },
  )

  it.each<[Environment, object]>([
    [{ TUNNEL_PATHS: '/a' }, { tunnelPaths: ['/a'] }],
    [{ TUNNEL_PATHS: '/a|/b_c/d-e|/a' }, { tunnelPaths: ['/a', '/b_c/d-e'] }],
    [{ TUNNEL_PATHS: '/.tunnel|/v1.0/~t' }, { tunnelPaths: ['/.tunnel', '/v1.0/~t'] }],
    [{ TUNNEL_PATHS: '/labs|/consoles' }, { tunnelPaths: ['/labs', '/consoles'] }],
    [{ DERIVED_PATHS: 'on' }, { tunnelPaths: ['/monitoring'], derivedPaths: true }],
    [
      { TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.1\n2001:db8::/32' },
      { trustedProxies: ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'] },
    ],
    [{ TRUSTED_PROXIES: '0.0.0.0/0' }, { trustedProxies: ['0.0.0.0/0'] }],
    [{ MAX_ENVELOPE_BYTES: '1024' }, { maxEnvelopeBytes: 1024 }],
    [{ MAX_ENVELOPE_BYTES: ' 1073741824 ' }, { maxEnvelopeBytes: 1024 ** 3 }],
  ])('accept %j', (env, settings) => {
    expect(read(env)).toMatchObject({ settings, problems: [] })
  })

  it.each([
    ...allOf('TUNNEL_PATHS', 'is not a path; write one like /monitoring', [
      ...['monitoring', '/', '/monitoring/', '/a//b', '/a b', '/../a', '/a/..', '/./a', '/a;b', '/%61'],
      ...['/a\n/b', '/.*', '/a"b\'c', '/$HOME & \\1 @LISTEN@', '/ä', 'DERIVED'],
    ]),
    ...allOf('TUNNEL_PATHS', 'is served by the web app; choose one outside', [
      '/_next',
      '/console/x',
      '/lab',
    ]),
    ...allOf('TRUSTED_PROXIES', 'is not a network; write addresses or CIDRs', [
      ...['localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/08', '10.0.0/8', '2001:db8::/129'],
      ...['fe80::1%eth0', '10.0.0.0/8/8', '10.0.0.0/8;'],
      ...['10.0.0.256', '010.0.0.1', '1.2.3.4.5', '/8', '[::1]', '::g', '::1.2.3.256', '::1.2.3.4:5'],
      ...['1:2:3:4:5:6:7:8:9', '1::2::3', ':::1', ':1', '1:', '12345::', '1:2:3:4:5:6:7:1.2.3.4'],
    ]),
    ...allOf('MAX_ENVELOPE_BYTES', 'is not a number of bytes; write a whole number from 1024 to 1073741824', [
      ...['100m', '1e6', '0x400', '-1', '2048.5', '02048', '1023', '1073741825'],
    ]),
  ])('reject %s=%s and say what to write', (name, value, words) => {
    const { problems } = read({ [name]: value })
    expect(problems).toHaveLength(1)
    expect(problems[0]?.startsWith(`${name}: "${value}" ${words}`)).toBe(true)
  })

  it('report every problem, one for each invalid part of a list', () => {
    const { problems } = read({
      TUNNEL_PATHS: '/ok|x|/lab',
      TRUSTED_PROXIES: 'a,10.0.0.1,b',
    })
    expect(problems.map((problem) => problem.split('" ')[0])).toEqual([
      'TUNNEL_PATHS: "x',
      'TUNNEL_PATHS: "/lab',
      'TRUSTED_PROXIES: "a',
      'TRUSTED_PROXIES: "b',
    ])
  })
})

/** Returns a row of the table for each value. */
function allOf(name: string, words: string, values: string[]) {
  return values.map((value) => [name, value, words] as const)
}

function read(env: Environment) {
  const problems: string[] = []
  return { settings: readSharedSettings(new SettingsReader(env, problems)), problems }
}
