/** What the renderer makes of the settings. */

import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { derivedPath, INBOX_DSN, parseDsn } from '../../../tunnel/src/envelope/dsn.ts'
import { ADDRESSES, render } from '../../support/nginx/renderer.ts'
import { ROOT } from '../../support/node.ts'
import { NGINX_PROGRAM, requires } from '../../support/requirements.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const TLS = {
  LISTEN_TLS: '127.0.0.1:8443 [::1]:8443',
  TLS_CERTIFICATE: join(ROOT, 'tests/fixtures/tls/cert.pem'),
  TLS_KEY: join(ROOT, 'tests/fixtures/tls/key.pem'),
}

let folder: Awaited<ReturnType<typeof makeFolder>>

beforeAll(async () => {
  folder = await makeFolder()
})

afterAll(() => folder[Symbol.asyncDispose]())

/** The rendered lines that hold `words`, without their indentation. */
function lines(env: Record<string, string>, words: string): string[] {
  const { rejection, text } = render(folder.path, env)
  expect(rejection).toEqual([])
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.includes(words))
}

describe('The tunnel paths', () => {
  it.each([
    ['are /monitoring by default', {}, '/monitoring'],
    ['are alternatives of one exact location', { TUNNEL_PATHS: '/a|/b/c_d-E9' }, '/a|/b/c_d-E9'],
    ['may have blanks around them all', { TUNNEL_PATHS: ' \n/a|/b\t' }, '/a|/b'],
  ])('%s', (_, env, paths) => {
    expect(lines(env, 'location ~ ^(')).toEqual([`location ~ ^(${paths})/?\\z {`])
  })

  it.each([
    'https://public@o1.ingest.us.sentry.io/2',
    'https://examplePublicKey@o0.ingest.sentry.io/0',
    'HTTPS://Key:secret@O1.Ingest.Sentry.IO:443/2',
    'http://key@sentry.internal:80/a/b.c/99999999999999999999',
    'http://key@sentry.internal:443/1',
    'https://key_9:@[2001:DB8::1]:9000/pre~fix/7',
    'https://key@[::443]/1',
  ])('take in the one that SDKs derive from %s', (text) => {
    const dsn = parseDsn(text)
    const env = { SENTRY_DSN: text, DERIVED_PATHS: 'on' }
    expect(lines(env, 'location ~ ^(')).toEqual([
      `location ~ ^(/monitoring|${dsn && derivedPath(dsn)})/?\\z {`,
    ])
  })

  it('take in a derived path for each DSN, known to the letter', () => {
    const dsns = 'https://public@o1.ingest.us.sentry.io/2,\n https://examplePublicKey@o0.ingest.sentry.io/0'
    const [location] = lines({ SENTRY_DSN: dsns, DERIVED_PATHS: 'on' }, 'location ~ ^(')
    expect(location?.match(/\/[a-z0-9]+/g)).toEqual(expect.arrayContaining(['/7y54ph', '/r9bok1']))
  })

  it('take in that of a DSN that stands in a file', () => {
    const SENTRY_DSN_FILE = join(folder.path, 'dsn')
    writeFileSync(SENTRY_DSN_FILE, '\nhttps://public@o1.ingest.us.sentry.io/2\n')
    expect(lines({ SENTRY_DSN_FILE, DERIVED_PATHS: 'on' }, 'location ~ ^(')[0]).toContain('|/7y54ph)')
  })

  it('take in that of the built-in DSN when there is no other', () => {
    const dsn = parseDsn(INBOX_DSN)
    expect(lines({ DERIVED_PATHS: 'on' }, 'location ~ ^(')[0]).toContain(`|${dsn && derivedPath(dsn)})`)
  })

  it('have none derived unless switched on', () => {
    expect(lines({ SENTRY_DSN: 'https://public@o1.ingest.us.sentry.io/2' }, '7y54ph')).toEqual([])
  })
})

describe('Lists', () => {
  it('become a line for each of their values', () => {
    const env = { TRUSTED_PROXIES: ' 10.0.0.0/8,192.0.2.1\n2001:db8::/32 , ::1' }
    expect(lines(env, 'set_real_ip_from')).toEqual([
      'set_real_ip_from 10.0.0.0/8;',
      'set_real_ip_from 192.0.2.1;',
      'set_real_ip_from 2001:db8::/32;',
      'set_real_ip_from ::1;',
    ])
    expect(lines(env, ' 1;').filter((line) => /^\S+ 1;$/.test(line))).toEqual([
      '10.0.0.0/8 1;',
      '192.0.2.1 1;',
      '2001:db8::/32 1;',
      '::1 1;',
    ])
  })

  it.each(['', ' ', ' , \n'])('become no line at all when they are empty (%j)', (TRUSTED_PROXIES) => {
    expect(lines({ TRUSTED_PROXIES }, 'set_real_ip_from')).toEqual([])
  })

  it('name every tunnel', () => {
    expect(lines({ TUNNELS: '127.0.0.1:9090 [::1]:9190' }, 'server ')).toEqual([
      'server 127.0.0.1:9090 max_fails=0;',
      'server [::1]:9190 max_fails=0;',
      'server 127.0.0.1:9090 max_fails=0;',
      'server [::1]:9190 max_fails=0;',
      'server 127.0.0.1:3000 max_fails=0;',
      'server {',
    ])
  })
})

describe('The limits of one sender', () => {
  it.each([
    ['the tunnel’s defaults', {}, '800', '8000'],
    ['its settings', { ADDRESS_RATE: '7', ADDRESS_BURST: '1000000' }, '28', '4000000'],
  ])('are four times %s', (_, env, rate, burst) => {
    const where = `limit_req zone=envelopes burst=${burst} nodelay;`
    expect(lines(env, 'limit_req ')).toEqual([where, where]) // of the second, where many requests are in hand
    expect(lines(env, 'limit_req_zone ')).toEqual([expect.stringContaining(` rate=${rate}r/s;`)])
  })

  it('are none where the tunnel has none', () => {
    expect(lines({ ADDRESS_RATE: '0' }, 'limit_req ')).toEqual([])
    expect(lines({ ADDRESS_RATE: '0' }, 'limit_req_zone ')).toEqual([])
  })
})

describe('A certificate', () => {
  it('is shown on the ports that are for TLS', () => {
    expect(lines({ ...TLS, LISTEN: '80 [::]:80' }, 'listen ')).toEqual([
      'listen 80;',
      'listen [::]:80;',
      expect.stringMatching(/^listen 127\.0\.0\.1:8081; #/),
      'listen 127.0.0.1:8443 ssl;',
      'listen [::1]:8443 ssl;',
    ])
    expect(lines(TLS, 'ssl_certificate')).toEqual([
      `ssl_certificate "${TLS.TLS_CERTIFICATE}";`,
      `ssl_certificate_key "${TLS.TLS_KEY}";`,
    ])
  })

  it('is not asked for otherwise', () => {
    expect(lines({}, 'ssl')).toEqual([])
    expect(lines({}, 'http2')).toEqual([])
  })
})

describe('Names', () => {
  const env = { TUNNELS: 'tunnel:9090', WEB: 'web:3000', RESOLVER: '127.0.0.11' }

  it('are looked up again and again where there is a resolver', () => {
    expect(lines(env, 'resolve')).toEqual(
      expect.arrayContaining([
        'resolver 127.0.0.11 valid=2s;',
        'server tunnel:9090 resolve max_fails=0;',
        'server web:3000 resolve max_fails=0;',
      ]),
    )
  })

  it('are left to the start where there is none: nginx before 1.27.3 knows nothing else', () => {
    expect(lines({}, ' resolve ')).toEqual([])
    expect(lines({}, 'resolver ')).toEqual([])
  })
})

describe('A value', () => {
  it('is put in as it is, whatever it means to awk, sed or the shell', () => {
    const file = '/logs/a & b\\\\1 $HOME `id` * #.log'
    expect(lines({ ACCESS_LOG: file }, 'access_log')).toEqual([`access_log "${file}" json if=$logged;`])
  })

  it('may lead to a folder with blanks in its name', async () => {
    const NGINX_TEMP = join(folder.path, 'my projects/culvert')
    expect(lines({ NGINX_TEMP }, 'pid ')).toEqual([`pid "${NGINX_TEMP}/nginx.pid";`])
    expect(existsSync(NGINX_TEMP)).toBe(true)
  })

  it.each(['LISTEN', 'INNER_LISTEN', 'TUNNELS', 'WEB'])('is asked for where %s has none', (name) => {
    const { status, rejection } = render(folder.path, { [name]: '' })
    expect(status).not.toBe(0)
    expect(rejection.join()).toContain(name)
  })
})

describe('The rendered file', requires('nginx'), () => {
  it.each([
    ['the defaults', {}],
    ['an empty list', { TRUSTED_PROXIES: '' }],
    ['lists, paths and derived paths', LISTS()],
    ['no limits', { ADDRESS_RATE: '0' }],
    ['a certificate', { ...TLS, LISTEN_TLS: '127.0.0.1:8443' }],
  ])('is accepted by the nginx that is installed, with %s', (_, env) => {
    const { rejection } = render(folder.path, env)
    expect(rejection).toEqual([])
    const file = join(folder.path, 'rendered.conf')
    const { stderr } = spawnSync(NGINX_PROGRAM ?? '', ['-t', '-e', 'stderr', '-c', file], {
      encoding: 'utf8',
    })
    expect(stderr.split('\n')).toEqual([
      `nginx: the configuration file ${file} syntax is ok`,
      `nginx: configuration file ${file} test is successful`,
      '',
    ])
  })
})

describe(
  'The rendered file, in a container with nothing to write to but a volume',
  requires('docker'),
  () => {
    it.each([
      ['names and a resolver', { TUNNELS: 'tunnel:9090', WEB: 'web:3000', RESOLVER: '127.0.0.11' }],
      ['plain addresses', {}],
      ['lists, paths and derived paths', LISTS()],
      ['IPv6', { LISTEN: '8080 [::]:8080' }],
      [
        'a certificate and HTTP/2',
        { ...inContainer(TLS), LISTEN_TLS: '8443 [::]:8443', HTTP2: 'on', KEEPALIVE_MIN_TIMEOUT: '5s' },
      ],
    ])(
      'is accepted by the nginx image, with %s',
      (_, env) => {
        const settings = { ...ADDRESSES, NGINX_TEMP: '/var/tmp/nginx', ...env }
        const { stderr, status } = spawnSync(
          'docker',
          [
            ...[
              'run',
              '--rm',
              '--network=none',
              '--read-only',
              '--cap-drop=ALL',
              '--user=nginx',
              '--entrypoint=sh',
            ],
            ...['-v', `${ROOT}:/culvert:ro`, '-v', '/var/tmp', '-w', '/culvert'],
            ...Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
            ...[
              'nginx:1.30',
              '-c',
              'sh scripts/render-nginx.sh nginx.conf "$NGINX_TEMP/n" && nginx -t -e stderr -c "$NGINX_TEMP/n"',
            ],
          ],
          { encoding: 'utf8' },
        )
        expect(stderr).toBe(
          'nginx: the configuration file /var/tmp/nginx/n syntax is ok\nnginx: configuration file /var/tmp/nginx/n test is successful\n',
        )
        expect(status).toBe(0)
      },
      60_000,
    )
  },
)

/** The files of the repository, as the container sees them. */
function inContainer(settings: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value.replace(ROOT, '/culvert')]),
  )
}

function LISTS(): Record<string, string> {
  return {
    TUNNEL_PATHS: '/monitoring|/errors/in-here',
    DERIVED_PATHS: 'on',
    TRUSTED_PROXIES: '10.0.0.0/8 172.16.0.1 2001:db8::/32 ::ffff:192.0.2.0/120',
    TUNNELS: '127.0.0.1:9090 127.0.0.1:9190',
  }
}
