/** Doctor on wrong and on right deployments. Faults of a proxy are in `tests/unit/doctor/proxy-faults.test.ts`. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Result } from '../../../doctor/check.ts'
import { buildSdk } from '../../../scripts/build/sdk.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { listFiles, RULES_FILE } from '../../support/browser/adblock.ts'
import { askDoctor, askDoctorIn } from '../../support/doctor/doctor.ts'
import {
  type Alter,
  type Answer,
  startFront,
  startOpenRelay,
} from '../../support/doctor/misconfigured-servers.ts'
import { startNginx } from '../../support/nginx/nginx.ts'
import { ROOT } from '../../support/node.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'
import { hasItem } from '../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { startWeb } from '../../support/web/web.ts'

const PATHS = '/monitoring|/api/sentry/tunnel'
const ROUTES = { TUNNEL_PATHS: PATHS }
const PASSWORD = 'password of the tests'
const PAGE = {
  headers: { 'content-type': 'text/html' },
  body: '<h1>403 Forbidden</h1>Project not found or key incorrect',
}
/** Finding where Compose runs no Culvert. */
const NO_COMPOSE = expect.objectContaining({ name: 'settings', result: 'unknown' })

describe('npm run doctor', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnels: Tunnel[]
  let page: Upstream
  let passwordFile: string
  let closed: string

  beforeAll(async () => {
    await buildSdk(ROOT)
    const folder = started.use(await makeFolder())
    passwordFile = join(folder.path, 'password')
    writeFileSync(passwordFile, `${PASSWORD}\n`)
    closed = String(await freePort())
    sentry = started.use(await startSentry())
    tunnels = [started.use(await startOurTunnel()), started.use(await startOurTunnel())]
    page = started.use(await startPage(sentry.dsn()))
  })

  afterAll(() => started.disposeAsync())

  const startOurTunnel = (env = {}, reroute: Record<string, string> = {}) =>
    startTunnel({
      reroute,
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

  describe('on the provided deployment, as plain processes', () => {
    let url: string

    beforeAll(async () => {
      const web = started.use(await startWeb({ SENTRY_DSN: sentry.dsn() }))
      const nginx = await startNginx({
        tunnels: addresses(tunnels),
        web: `127.0.0.1:${web.port}`,
        env: ROUTES,
      })
      url = started.use(nginx).url
    })

    it('passes every check without warnings, as a process', async () => {
      const flags = ['--json', '--closed', closed, ...insideOf(tunnels)]
      const { code, checks } = await askDoctorIn(ROOT, url, ...flags)
      expect(checks.filter(({ result }) => result !== 'pass')).toEqual([NO_COMPOSE])
      expect(code).toBe(0)
      expect(checks.length).toBeGreaterThan(20)
    })

    it('sends one error and one replay to Sentry, marked as tests', async () => {
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

    it('prints what it cannot check from outside, what each check verifies, and the counts', async () => {
      const { code, text } = await doctor(url)
      expect(text).toMatch(/^ {2}– {3}Clients cannot forge their address: Not checkable from outside: /m)
      expect(text).toMatch(/pass {2}The start page loads: 200 after \d+ ms\.\n {6}Checks: The proxy \(nginx/)
      expect(text).toMatch(/23 passed, 0 warned, 0 failed, 10 not checkable from here\n$/)
      expect(code).toBe(0)
    })

    it('checks the path against complete ad-block lists', async () => {
      const lists = [RULES_FILE, ...listFiles()].flatMap((list) => ['--list', list])
      const { checks } = await doctor(url, '--json', ...lists)
      expect(checks.find(({ name }) => name === 'adblock')).toMatchObject({
        result: 'pass',
        message: expect.stringMatching(/matches none of \d+ filters/),
      })
    })
  })

  /** Cases: name, deployment, and the checks that fail. */
  const WRONG: WrongOne[] = [
    [
      'TRUSTED_PROXIES that contain all addresses',
      async () => ({ env: { TRUSTED_PROXIES: '0.0.0.0/0' } }),
      { 'client-address': ['fail', /believes 192\.0\.2\.77/] },
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
      'an open relay instead of the tunnel',
      async (on) => ({ tunnels: [on.use(await startOpenRelay()).address] }),
      {
        error: ['fail', /not from a tunnel/],
        'foreign-dsn': ['fail', /accepts it: 200/],
        origin: ['fail', /allows \* to read it/],
        headers: ['fail', /All sites can read/],
        'browser-reports': ['fail', /unlike a tunnel/],
      },
    ],
    [
      'a path on ad-block lists',
      async () => ({ env: ROUTES, flags: ['--path', '/api/sentry/tunnel'] }),
      { adblock: ['fail', /blocked by \/api\/sentry\/tunnel/] },
    ],
    [
      'a path that a list at a URL blocks',
      async (on) => {
        const list = on.use(
          await startUpstream('list', (_, response) => response.end('/monitoring?p=$xhr\n')),
        )
        return { flags: ['--list', `http://${list.address}/easyprivacy.txt`] }
      },
      { adblock: ['fail', /blocked by \/monitoring\?p=/] },
    ],
    [
      'a page and a tunnel with different projects',
      async (on) => ({
        web: on.use(await startPage(`http://other@127.0.0.1:${sentry.port}/7`)).address,
      }),
      { error: ['fail', /403 dsn-unknown/] },
    ],
    [
      'tunnels that do not know nginx',
      async (on) => {
        const all = [on.use(await startOurTunnel({ EDGE: '127.0.0.5' }))]
        return { tunnels: addresses(all), inside: all, ignored: ['replicas'] }
      },
      { 'client-address': ['fail', /neither in EDGE nor in TRUSTED_PROXIES/] },
    ],
    [
      'a single replica',
      async () => ({ tunnels: addresses(tunnels.slice(0, 1)), inside: tunnels.slice(0, 1) }),
      { replicas: ['warn', /1 of 1 known replicas/] },
    ],
    [
      'no tunnel behind the path',
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
      ignored = [],
      ...wrong
    } = await make(on)
    const nginx = on.use(
      await startNginx({
        tunnels: wrong.tunnels ?? addresses(tunnels),
        web,
        env: { ...ROUTES, ...env },
        ...(change && { change }),
      }),
    )
    const { code, checks } = await doctor(
      nginx.url,
      '--json',
      ...(inside.length > 0 ? insideOf(inside) : []),
      ...flags,
    )
    const problems = checks.filter(({ name, result }) => /fail|warn/.test(result) && !ignored.includes(name))
    expect(
      Object.fromEntries(problems.map(({ name, result, message }) => [name, [result, message]])),
    ).toEqual(
      Object.fromEntries(
        Object.entries(found).map(([name, [result, message]]) => [
          name,
          [result, expect.stringMatching(message)],
        ]),
      ),
    )
    expect(code).toBe(Object.values(found).some(([result]) => result === 'fail') ? 1 : 0)
  })

  it('prints the consequences of a failed check in one line under it', async () => {
    await using nginx = await startNginx({ tunnels: addresses(tunnels), web: page.address, env: ROUTES })
    await using front = await startFront(nginx.url, cached())
    const { text } = await doctor(front.url)
    expect(text.match(/^FAIL/gm)).toHaveLength(1)
    expect(text).toMatch(
      /^ {6}Not checked until then: “The start page loads”, “The tunnel path leads to a tunnel”, /m,
    )
  })

  it('finds a proxy that is missing in TRUSTED_PROXIES by its own requests, on a fresh stack', async () => {
    await using on = new AsyncDisposableStack()
    const fresh = [on.use(await startOurTunnel()), on.use(await startOurTunnel())]
    const nginx = on.use(await startNginx({ tunnels: addresses(fresh), web: page.address, env: ROUTES }))
    const front = on.use(await startFront(nginx.url, (_, forward) => forward(), 'shop.example'))
    const { checks } = await doctor(front.url, '--json', ...insideOf(fresh))
    expect(checks.filter(({ result }) => /fail|warn/.test(result))).toMatchObject([
      { name: 'body-too-large', message: expect.stringMatching(/reads a whole body of any size/) },
      {
        name: 'client-address',
        result: 'warn',
        message: expect.stringMatching(/a proxy hides theirs/),
        remedy: expect.stringMatching(/TRUSTED_PROXIES/),
      },
    ])
  })

  it('fails from outside when the server of the DSN expects another number of addresses', async () => {
    await using on = new AsyncDisposableStack()
    const refusing = on.use(await startSentry())
    refusing.answer(({ headers }) => (headers['x-forwarded-for'] ? { status: 400, ...PAGE } : {}))
    const tunnel = on.use(await startOurTunnel({ SENTRY_DSN: refusing.dsn() }))
    const own = on.use(await startPage(refusing.dsn()))
    const nginx = on.use(await startNginx({ tunnels: addresses([tunnel]), web: own.address, env: ROUTES }))
    const { checks } = await doctor(nginx.url, '--json')
    expect(checks.filter(({ result }) => result === 'fail')).toMatchObject([
      {
        name: 'error',
        message: expect.stringMatching(/400 to the error\. Without X-Forwarded-For it accepts it/),
        remedy: expect.stringMatching(/^Bugsink with USE_X_FORWARDED_FOR/),
      },
    ])
  })

  it('fails from inside when only the tunnels reach the server of the DSN, and it knows no such key', async () => {
    await using on = new AsyncDisposableStack()
    const refusing = on.use(await startSentry())
    refusing.answer({ status: 403, ...PAGE })
    const dsn = refusing.dsn('456', { host: 'sentry.invalid' })
    const reroute = { 'sentry.invalid:80': `127.0.0.1:${refusing.port}` }
    const tunnel = on.use(await startOurTunnel({ SENTRY_DSN: dsn }, reroute))
    const own = on.use(await startPage(dsn))
    const nginx = on.use(await startNginx({ tunnels: addresses([tunnel]), web: own.address, env: ROUTES }))
    const { code, checks } = await doctor(nginx.url, '--json', ...insideOf([tunnel]))
    expect(checks.filter(({ result }) => result === 'fail')).toMatchObject([
      {
        name: 'delivery',
        message: expect.stringMatching(/responds with 403/),
        remedy: expect.stringMatching(/key in SENTRY_DSN is wrong/),
      },
    ])
    expect(checks.filter(({ name }) => name === 'tunnel-state')).toMatchObject([
      { result: 'warn', message: expect.stringContaining('(HTTP 403: “403 Forbidden Project not found') },
    ])
    expect(code).toBe(1)
  })

  it('finds no problem when it does not know all replicas, and names what it cannot check', async () => {
    await using asked = await startOurTunnel()
    await using nginx = await startNginx({ tunnels: addresses(tunnels), web: page.address, env: ROUTES })
    const { code, checks } = await doctor(nginx.url, '--json', ...insideOf([asked]))
    const unknown = checks.filter(({ name, result }) => result !== 'pass' && name !== 'settings')
    expect(unknown.map(({ name, result }) => [name, result])).toEqual(
      ['client-address', 'credentials', 'proxy-headers', 'delivery'].map((name) => [name, 'unknown']),
    )
    for (const { message } of unknown) expect(message).toMatch(/^Not checkable: .+; name every replica/)
    expect(checks.find(({ name }) => name === 'replicas')?.message).toMatch(
      /^0 of 1 known replicas .+; unknown replicas accepted \d+\.$/,
    )
    expect(code).toBe(0)
  })

  it('accepts a site with pages of its own when --dsn names the DSN', async () => {
    await using web = await startUpstream('web', (_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end('<!doctype html><title>Shop</title>')
    })
    await using nginx = await startNginx({ tunnels: addresses(tunnels), web: web.address, env: ROUTES })
    const { checks } = await doctor(nginx.url, '--json', '--dsn', sentry.dsn(), ...insideOf(tunnels))
    expect(checks.filter(({ result }) => result !== 'pass')).toEqual([NO_COMPOSE])
    const { text } = await doctor(nginx.url)
    expect(text).toMatch(
      /The tunnel accepts an error: Not checkable from outside: the page does not contain a DSN; name one with --dsn\./,
    )
  })

  it('rejects an unknown flag with exit code 2', async () => {
    await expect(askDoctorIn(ROOT, 'https://site.example', '--harder')).rejects.toThrow('harder')
  })
})

/** Sends the first response to each post on a path. */
function cached(): Alter {
  const answers = new Map<string, Promise<Answer>>()
  return (path, forward) => {
    const answer = answers.get(path) ?? forward()
    answers.set(path, answer)
    return answer
  }
}

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
  /** Checks that may pass or fail, like that of the replicas where one shows the problem. */
  ignored?: string[]
}

/** Starts a page with the settings that web puts into its documents. */
function startPage(dsn: string): Promise<Upstream> {
  const settings = JSON.stringify({ dsn, tunnel: `/monitoring?p=${dsn.split('/').at(-1)}` })
  const html = `<!doctype html><html lang="en" data-settings="${settings.replaceAll('"', '&quot;')}"><title>Shop</title></html>`
  return startUpstream('web', (_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(html)
  })
}
