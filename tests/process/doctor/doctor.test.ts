/** The doctor finds what is wrong with a deployment, and nothing where nothing is. */

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Result } from '../../../doctor/check.ts'
import { deriveAdminToken } from '../../../tunnel/src/config/admin-token.ts'
import { askDoctor } from '../../support/doctor/doctor.ts'
import { startOpenRelay, startTextProxy } from '../../support/doctor/misconfigured-servers.ts'
import { startNginx } from '../../support/nginx/nginx.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { freePort } from '../../support/ports.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { LISTS_FOLDER, requires, unmet } from '../../support/requirements.ts'
import { hasItem } from '../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { startWeb } from '../../support/web/web.ts'

const PATHS = '/monitoring|/api/sentry/tunnel'
const PASSWORD = 'password of the tests'

describe('npm run doctor', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnels: Tunnel[]
  let page: Upstream
  let passwordFile: string
  let closed: string

  beforeAll(async () => {
    const folder = started.use(await makeFolder())
    passwordFile = join(folder.path, 'password')
    writeFileSync(passwordFile, `${PASSWORD}\n`)
    closed = String(await freePort())
    sentry = started.use(await startSentry())
    tunnels = [started.use(await startOurTunnel()), started.use(await startOurTunnel())]
    page = started.use(await startPage(sentry.dsn()))
  })

  afterAll(() => started.disposeAsync())

  const startOurTunnel = (env = {}) =>
    startTunnel({
      env: {
        SENTRY_DSN: sentry.dsn(),
        TUNNEL_PATHS: PATHS,
        ADMIN_TOKEN: '',
        OPERATOR_PASSWORD: PASSWORD,
        ...env,
      },
    })
  const addresses = (all: Tunnel[]) => all.map(({ port }) => `127.0.0.1:${port}`)
  const insideOf = (all: Tunnel[]) => [
    ...['--password-file', passwordFile],
    ...all.flatMap(({ adminUrl }) => ['--admin', adminUrl]),
  ]

  const doctor = (url: string, ...flags: string[]) => askDoctor(url, '--closed', closed, ...flags)

  describe('on the deployment that ships, as plain processes', () => {
    let url: string

    beforeAll(async () => {
      const web = started.use(await startWeb({ SENTRY_DSN: sentry.dsn() }))
      const nginx = await startNginx({ tunnels: addresses(tunnels), web: `127.0.0.1:${web.port}` })
      url = started.use(nginx).url
    })

    it('passes every check, and has no warning', async () => {
      const { code, checks } = await doctor(url, '--json', ...insideOf(tunnels))
      expect(checks.filter(({ result }) => result !== 'pass')).toEqual([])
      expect(code).toBe(0)
      expect(checks.length).toBeGreaterThan(20)
    })

    it('marks what it leaves in Sentry as a test, and leaves one error and one replay', async () => {
      sentry.requests.length = 0
      await doctor(url)
      for (const type of ['event', 'replay_event']) {
        const [received, ...more] = sentry.requests.filter(hasItem(type))
        expect(more).toEqual([])
        expect(JSON.parse(String(received?.items[0]?.payload))).toMatchObject({
          environment: 'culvert-doctor',
          tags: { 'culvert.doctor': received?.header.event_id },
        })
      }
      const others = sentry.requests.filter(
        (request) => !hasItem('event')(request) && !hasItem('replay_event')(request),
      )
      expect(
        others
          .flatMap(({ items }) => items)
          .map(({ payload }) => JSON.parse(String(payload)).discarded_events),
      ).toEqual(others.map(() => []))
    })

    it('says what cannot be seen from outside, what each check proves, and counts', async () => {
      const { code, text } = await doctor(url)
      expect(text).toMatch(/^ {2}– {3}Visitors’ addresses cannot be made up\? Not checkable from outside: /m)
      expect(text).toMatch(/pass {2}The page answers\. 200 after \d+ ms\.\n {6}Proves: The front is up/)
      expect(text).toMatch(/17 passed, 0 warned, 0 failed, 5 not checkable from here\n$/)
      expect(code).toBe(0)
    })

    it('holds the path against whole ad-block lists', { skip: unmet('lists') !== undefined }, async () => {
      const { checks } = await doctor(url, '--json', '--list', join(LISTS_FOLDER, 'easyprivacy.txt.gz'))
      expect(checks.find(({ name }) => name === 'adblock')).toMatchObject({
        result: 'pass',
        says: expect.stringMatching(/meets none of \d{4,} filters/),
      })
    })
  })

  /** Each: what is wrong, the deployment, and the checks that find it. */
  const WRONG: WrongOne[] = [
    [
      'a front that limits, and says so with a bare 429',
      async () => ({
        change: (config) =>
          config
            .replace('http {', 'http { limit_req_zone $remote_addr zone=a:1m rate=20r/s;')
            .replace('error_page 429 @too_much;', '')
            .replace(
              'proxy_pass http://tunnel;',
              'limit_req zone=a burst=20 nodelay; proxy_pass http://tunnel;',
            ),
      }),
      { burst: ['fail', /are not taken: 429/], silence: ['fail', /bare 429/] },
    ],
    [
      'cookies and Authorization forwarded',
      async () => ({
        change: (config) => config.replaceAll(/proxy_set_header (Cookie|Authorization) [^;]+;/g, ''),
      }),
      { secrets: ['fail', /handed cookie and authorization/] },
    ],
    [
      'addresses appended to what the browser says',
      async () => ({
        change: (config) => toldAddress(config, '$proxy_add_x_forwarded_for'),
      }),
      { addresses: ['fail', /several addresses/] },
    ],
    [
      'everybody trusted to say who the visitor is',
      async () => ({ env: { TRUSTED_PROXIES: '0.0.0.0/0' } }),
      { addresses: ['fail', /believes 192\.0\.2\.77/] },
    ],
    [
      'no address handed on',
      async () => ({
        change: (config) => toldAddress(config, '""'),
      }),
      { addresses: ['fail', /told no address/] },
    ],
    [
      'nginx’s own limit of 1 MB',
      async () => ({ change: (config) => config.replace(/client_max_body_size.*;|error_page 413.*;/g, '') }),
      { 'large-body': ['fail', /413 text\/html/], 'body-too-large': ['warn', /413 text\/html/] },
    ],
    [
      'a path that redirects to the one with a slash',
      async () => ({
        change: (config) =>
          config.replace('location ~', 'location = /monitoring { return 308 /monitoring/; }\n location ~'),
      }),
      { tunnel: ['fail', /redirects \(308\)/] },
    ],
    [
      'the admin port published, as a path',
      async () => ({
        change: (config) =>
          config.replace(
            'location ~',
            `location = /metrics { proxy_pass ${tunnels[0]?.adminUrl}; }\n location ~`,
          ),
      }),
      { 'admin-port': ['fail', /\/metrics leads to the admin port/] },
    ],
    [
      'the admin port published, as a port',
      async () => ({ flags: ['--closed', new URL(tunnels[0]?.adminUrl ?? '').port] }),
      { 'admin-port': ['fail', /is open/] },
    ],
    [
      'a tunnel that can be reached past nginx',
      async () => ({ flags: ['--closed', String(tunnels[0]?.port)] }),
      { 'admin-port': ['fail', /is open/] },
    ],
    [
      'a path that the front leads to web',
      async () => ({ env: { TUNNEL_PATHS: '/elsewhere' } }),
      { tunnel: ['fail', /\/monitoring answers 200/] },
    ],
    [
      'an open relay in the tunnel’s place',
      async (on) => ({ tunnels: [on.use(await startOpenRelay()).address] }),
      {
        error: ['fail', /by no tunnel/],
        'foreign-dsn': ['fail', /is taken: 200/],
        origin: ['fail', /\* may read the answer/],
        headers: ['fail', /Any site may read/],
      },
    ],
    [
      'a proxy that reads bodies as text',
      async (on) => ({ tunnels: [on.use(await startTextProxy(tunnels[0]?.url ?? '')).address] }),
      {
        replay: ['fail', /400 item-malformed/],
        compression: ['fail', /400 encoding-broken/],
        arrival: ['fail', /the replay had \d+ bytes/],
      },
    ],
    [
      'a front that speaks for the browser about where a post comes from',
      async () => ({
        change: (config) =>
          config.replace(
            'proxy_set_header Forwarded "";',
            'proxy_set_header Origin ""; proxy_set_header Sec-Fetch-Site "";',
          ),
      }),
      { origin: ['fail', /is taken: 200/] },
    ],
    [
      'cookies, versions and inner addresses on answers',
      async () => ({
        change: (config) =>
          config
            .replace('server_tokens off;', '')
            .replace('proxy_pass http://tunnel;', 'proxy_pass http://tunnel; add_header Set-Cookie "a=1";'),
      }),
      { headers: ['fail', /sets a cookie/] },
    ],
    [
      'Retry-After on answers',
      async () => ({
        change: (config) =>
          config.replace('proxy_pass http://tunnel;', 'proxy_pass http://tunnel; add_header Retry-After 60;'),
      }),
      { silence: ['fail', /200 with Retry-After/] },
    ],
    [
      'a path that stands on block lists',
      async () => ({ env: { TUNNEL_PATHS: '/api/sentry/tunnel' }, flags: ['--path', '/api/sentry/tunnel'] }),
      { adblock: ['fail', /stopped by \/api\/sentry\/tunnel/] },
    ],
    [
      'a path that a list at a URL stops',
      async (on) => {
        const list = on.use(
          await startUpstream('list', (_, response) => response.end('/monitoring?p=$xhr\n')),
        )
        return { flags: ['--list', `http://${list.address}/easyprivacy.txt`] }
      },
      { adblock: ['fail', /stopped by \/monitoring\?p=/] },
    ],
    [
      'a page and a tunnel that know different projects',
      async (on) => ({
        web: on.use(await startPage(`http://other@127.0.0.1:${sentry.port}/7`)).address,
      }),
      { error: ['fail', /403 dsn-unknown/] },
    ],
    [
      'tunnels that do not know nginx',
      async (on) => {
        const all = [
          on.use(await startOurTunnel({ EDGE: '127.0.0.5' })),
          on.use(await startOurTunnel({ EDGE: '127.0.0.5' })),
        ]
        return { tunnels: addresses(all), inside: all }
      },
      { addresses: ['fail', /does not know nginx/] },
    ],
    [
      'a spool that somebody has paused',
      async (on) => {
        const all = [on.use(await startOurTunnel()), on.use(await startOurTunnel())]
        const headers = { authorization: `Bearer ${deriveAdminToken(PASSWORD)}` }
        await fetch(`${all[0]?.adminUrl}/spool/pause`, { method: 'POST', headers })
        return { tunnels: addresses(all), inside: all }
      },
      { state: ['warn', /an operator has paused it/] },
    ],
    [
      'a Sentry that is away',
      async (on) => {
        const away = { SENTRY_DSN: `http://0123456789abcdef0123456789abcdef@127.0.0.1:${closed}/456` }
        const all = [on.use(await startOurTunnel(away)), on.use(await startOurTunnel(away))]
        const web = on.use(await startPage(away.SENTRY_DSN)).address
        return { tunnels: addresses(all), inside: all, web, open: ['state'] } // its breaker opens soon
      },
      {
        error: ['warn', /202: it waits on disk/],
        replay: ['warn', /202/],
        keepalive: ['warn', /202/],
        compression: ['warn', /202/],
        arrival: ['warn', /the error waits on disk/],
      },
    ],
    [
      'one tunnel only',
      async () => ({ tunnels: addresses(tunnels.slice(0, 1)), inside: tunnels.slice(0, 1) }),
      { replicas: ['warn', /1 asked/] },
    ],
    [
      'nobody behind the path',
      async () => ({ tunnels: [`127.0.0.1:${closed}`], inside: [] }),
      { tunnel: ['fail', /502 tunnel-away/] },
    ],
  ]

  it.each(WRONG)('finds %s', async (_, make, found) => {
    await using on = new AsyncDisposableStack()
    const {
      change,
      env = {},
      web = page.address,
      flags = [],
      inside = tunnels,
      open = [],
      ...wrong
    } = await make(on)
    const nginx = on.use(
      await startNginx({ tunnels: wrong.tunnels ?? addresses(tunnels), web, env, ...(change && { change }) }),
    )
    const { code, checks } = await doctor(
      nginx.url,
      '--json',
      ...(inside.length > 0 ? insideOf(inside) : []),
      ...flags,
    )
    const told = checks.filter(({ name, result }) => /fail|warn/.test(result) && !open.includes(name))
    expect(Object.fromEntries(told.map(({ name, result, says }) => [name, [result, says]]))).toEqual(
      Object.fromEntries(
        Object.entries(found).map(([name, [result, says]]) => [name, [result, expect.stringMatching(says)]]),
      ),
    )
    expect(code).toBe(Object.values(found).some(([result]) => result === 'fail') ? 1 : 0)
  })

  it('finds nothing wrong where it may not ask every tunnel, and says what it cannot know then', async () => {
    await using asked = await startOurTunnel()
    await using nginx = await startNginx({ tunnels: addresses(tunnels), web: page.address })
    const { code, checks } = await doctor(nginx.url, '--json', ...insideOf([asked]))
    const unknown = checks.filter(({ result }) => result !== 'pass')
    expect(unknown.map(({ name, result }) => [name, result])).toEqual(
      ['addresses', 'secrets', 'arrival'].map((name) => [name, 'unknown']),
    )
    for (const { says } of unknown) expect(says).toMatch(/^Not checkable from these: .+; name every one/)
    expect(checks.find(({ name }) => name === 'replicas')?.says).toMatch(/1 asked, .+; others took \d+\.$/)
    expect(code).toBe(0)
  })

  it('passes a site whose pages are not Culvert’s own, when it is told the DSN', async () => {
    await using web = await startUpstream('web', (_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end('<!doctype html><title>Shop</title>')
    })
    await using nginx = await startNginx({ tunnels: addresses(tunnels), web: web.address })
    const { checks } = await doctor(nginx.url, '--json', '--dsn', sentry.dsn(), ...insideOf(tunnels))
    expect(checks.filter(({ result }) => result !== 'pass')).toEqual([])
    const { text } = await doctor(nginx.url)
    expect(text).toMatch(
      /An error is taken\? Not checkable from outside: the page does not tell its DSN; give --dsn\./,
    )
  })

  it.each([
    ['no site', [], /name one site/],
    ['a site with a path', ['https://site.example/monitoring'], /without a path/],
    ['a flag that there is not', ['https://site.example', '--harder'], /harder/],
    [
      'a password for nothing',
      ['https://site.example', '--password-file', 'x'],
      /opens admin ports: name each tunnel's with --admin/,
    ],
  ])('refuses %s, with status 2', async (_, args, words) => {
    const failed = await promisify(execFile)(NODE, ['doctor/main.ts', ...args], { cwd: ROOT }).catch(
      (error) => error,
    )
    expect([failed.code, failed.stderr]).toEqual([2, expect.stringMatching(words)])
  })
})

type WrongOne = [
  what: string,
  make: (on: AsyncDisposableStack) => Promise<Wrong>,
  found: Record<string, [Result, RegExp]>,
]

type Wrong = {
  change?: (config: string) => string
  env?: Record<string, string>
  tunnels?: string[]
  inside?: Tunnel[]
  web?: string
  flags?: string[]
  /** Checks that may go either way. */
  open?: string[]
}

/** Tells the tunnels another address than the connection's. */
function toldAddress(config: string, address: string): string {
  return config.replaceAll(/(proxy_set_header X-Forwarded-For) [^;]+;/g, `$1 ${address};`)
}

/** Says of itself what web does. */
function startPage(dsn: string): Promise<Upstream> {
  const settings = JSON.stringify({ dsn, tunnel: `/monitoring?p=${dsn.split('/').at(-1)}` })
  const html = `<!doctype html><html lang="en" data-settings="${settings.replaceAll('"', '&quot;')}"><title>Shop</title></html>`
  return startUpstream('web', (_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(html)
  })
}
