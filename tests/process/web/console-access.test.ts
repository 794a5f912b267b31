/** Access to the console with and without a session. */

import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sealData } from 'iron-session'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../../scripts/hash-password.ts'
import { ROOT } from '../../support/node.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'
import { get, PASSWORD, signIn, startWebOver } from '../../support/web/operator.ts'
import { startWeb, type Web } from '../../support/web/web.ts'

const APP = resolve(ROOT, 'web/app')
const started = new AsyncDisposableStack()
let web: Web
/** Values that only a signed-in operator may see. */
let secrets: string[]

beforeAll(async () => {
  const tunnel = started.use(await openTunnel())
  const { replica } = await (await tunnel.admin('/status')).json()
  secrets = [replica, tunnel.adminUrl, tunnel.token, PASSWORD]
  web = started.use(await startWebOver(tunnel))
}, 300_000)

afterAll(() => started.disposeAsync())

/** Returns an address of its own for each test, since attempts count by address. */
let visitors = 0
const fromElsewhere = () => ({ 'x-forwarded-for': `203.0.113.${++visitors}` })

/** Every page and route under /console that needs a session, with a value for each parameter. */
const routes = globSync('console/**/{page.tsx,route.ts}', { cwd: APP, exclude: ['console/public/**'] }).map(
  (file) => ({
    path: `/${file.replace(/\/?(page\.tsx|route\.ts)$/, '').replaceAll(/\[\w+\]/g, '1')}`,
    source: readFileSync(join(APP, file), 'utf8'),
    isPage: file.endsWith('page.tsx'),
  }),
)

const methodsOf = ({ source, isPage }: (typeof routes)[number]) =>
  isPage
    ? ['GET']
    : [...source.matchAll(/^export (?:(?:async )?function|const) (GET|POST|PUT|PATCH|DELETE)\b/gm)].map(
        ([, method]) => method ?? '',
      )

/** Headers of posts that another site may make a browser send, with its cookies. */
const ELSEWHERE: [from: string, headers: Record<string, string>][] = [
  ['another origin', { origin: 'https://evil.example' }],
  ['an empty origin', { origin: '' }],
  ['the origin null', { origin: 'null' }],
  ['another origin of the same site', { 'sec-fetch-site': 'same-site' }],
  ['another site by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }],
]

const signOut = (url: string, headers: Record<string, string>) =>
  fetch(`${url}/console/sign-out`, { method: 'POST', redirect: 'manual', headers })

describe('Without a session', () => {
  it('the list of pages and routes to protect is not empty', () => {
    expect(routes.filter(({ isPage }) => isPage).length).toBeGreaterThan(4)
    expect(routes.filter(({ isPage }) => !isPage).length).toBeGreaterThan(4)
    for (const route of routes) expect(methodsOf(route), route.path).not.toEqual([])
  })

  it('no page and no route under /console returns content for any cookie', async () => {
    for (const route of routes.filter(({ path }) => path !== '/console/sign-in'))
      for (const method of methodsOf(route))
        for (const cookie of [undefined, 'culvert_console=forged', 'culvert_console='])
          if (!(method === 'POST' && ['/console/session', '/console/sign-out'].includes(route.path))) {
            const response = await fetch(web.url + route.path, {
              method,
              redirect: 'manual',
              headers: { origin: web.url, ...(cookie && { cookie }) },
            })
            const outcome = [method, route.path, response.status, response.headers.get('location')]
            expect(outcome).toEqual(
              route.isPage
                ? [method, route.path, 307, expect.stringMatching(/^\/console\/sign-in\?to=%2Fconsole/)]
                : [method, route.path, 401, null],
            )
            const text = await response.text()
            expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
          }
  })

  it('no page responds to the partial requests of Next.js links', async () => {
    for (const { path } of routes.filter(({ isPage }) => isPage)) {
      const response = await fetch(web.url + path, { redirect: 'manual', headers: { rsc: '1' } })
      const text = await response.text()
      expect([path, secrets.filter((secret) => text.includes(secret))]).toEqual([path, []])
      if (path !== '/console/sign-in') expect([path, response.status]).toEqual([path, 307])
    }
  })

  it('all code under app/ reads the tunnels through one module', () => {
    for (const file of globSync('**/*.{ts,tsx}', { cwd: APP })) {
      const source = readFileSync(join(APP, file), 'utf8')
      expect([
        file,
        /^import (?!type)[^']*'[^']*\/features\/console\/(shared-monitor|monitor\/replica-monitor|live-feed\/feed)\.ts'/m.test(
          source,
        ),
      ]).toEqual([file, false])
      if (file !== 'console/public/receipt.json/route.ts')
        expect([file, source.includes('/admin-client.ts')]).toEqual([file, false])
    }
  })
})

describe('Signing in', () => {
  it('with the password redirects to the requested page, and sets a cookie for the console only', async () => {
    const { status, location, setCookie, cookie } = await signIn(web.url, {
      to: '/console/live-feed?outcome=rejected',
      headers: fromElsewhere(),
    })
    expect([status, location]).toEqual([303, '/console/live-feed?outcome=rejected'])
    expect(setCookie).toMatch(/; Path=\/console;/)
    expect(setCookie).toMatch(/; HttpOnly; SameSite=lax/i)
    expect(setCookie).not.toMatch(/Secure/)
    expect((await get(`${web.url}/console/session`, cookie)).status).toBe(204)
  })

  it('over TLS sets a Secure cookie', async () => {
    const { setCookie } = await signIn(web.url, {
      headers: { ...fromElsewhere(), 'x-forwarded-proto': 'https', origin: web.url },
    })
    expect(setCookie).toMatch(/; Secure/)
  })

  it('with a wrong password sets no cookie, and says so', async () => {
    const headers = fromElsewhere()
    for (const password of ['', 'wrong', `${PASSWORD} `, 'x'.repeat(5_000)]) {
      const { status, location, setCookie } = await signIn(web.url, { password, headers })
      expect([status, location, setCookie]).toEqual([303, '/console/sign-in?wrong=1&to=%2Fconsole', null])
    }
    const page = await (await fetch(`${web.url}/console/sign-in?wrong=1`)).text()
    expect(page).toContain('Wrong password.')
  })

  it('is delayed for a client that guesses, and for no other', async () => {
    const headers = fromElsewhere()
    const outcomes = []
    for (let n = 0; n < 8; n++)
      outcomes.push((await signIn(web.url, { password: 'wrong', headers })).location?.split('&')[0])
    expect(outcomes.slice(0, 5)).toEqual(Array(5).fill('/console/sign-in?wrong=1'))
    expect(outcomes.slice(5).some((each) => /wait=\d+/.test(each ?? ''))).toBe(true)
    expect((await signIn(web.url, { headers: fromElsewhere() })).cookie).toBeDefined()
  })

  it.each([
    'https://evil.example/',
    '//evil.example/console',
    '/\\evil.example/console',
    '/console/../../evil',
    '/consolemania',
    'javascript:alert(1)',
    '/console/sign-in?to=/console/sign-in',
    '/%2f%2fevil.example',
  ])('does not redirect outside the console for %s', async (to) => {
    const { location } = await signIn(web.url, { to, headers: fromElsewhere() })
    expect(location).toBe('/console')
  })

  it.each(ELSEWHERE)('is rejected from %s, and so is signing out', async (_, headers) => {
    const { status, setCookie } = await signIn(web.url, { headers: { ...fromElsewhere(), ...headers } })
    expect([status, setCookie]).toEqual([403, null])
    const { cookie = '' } = await signIn(web.url, { headers: fromElsewhere() })
    expect((await signOut(web.url, { cookie, ...headers })).status).toBe(403)
    expect((await get(`${web.url}/console/session`, cookie)).status).toBe(204)
  })
})

describe('The device cookie', () => {
  /** Signs in and returns the device cookie with its attributes. */
  async function deviceOf(
    url: string,
    password = PASSWORD,
    headers: Record<string, string> = fromElsewhere(),
  ) {
    const { status, devices } = await attempt(url, password, headers)
    expect(status).toBe(true)
    const [whole = ''] = devices
    return { whole, cookie: whole.split(';')[0] ?? '' }
  }

  async function attempt(url: string, password: string, headers: Record<string, string>) {
    const response = await fetch(`${url}/console/session`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: new URL(url).origin, ...headers },
      body: new URLSearchParams({ password }),
    })
    const cookies = response.headers.getSetCookie()
    return {
      status: cookies.some((cookie) => cookie.startsWith('culvert_console=')),
      devices: cookies.filter((cookie) => cookie.startsWith('culvert_device=')),
      isDelayed: /wait=\d/.test(response.headers.get('location') ?? ''),
    }
  }

  async function failUntilDelayed(url: string, headers: Record<string, string>): Promise<void> {
    for (let n = 0; n < 30; n++) if ((await attempt(url, 'wrong', headers)).isDelayed) return
    throw new Error('30 wrong attempts were not delayed')
  }

  it('is set at sign-in only, sent to the sign-in only, and is Secure over TLS', async () => {
    const { whole } = await deviceOf(web.url)
    for (const part of [
      /; HttpOnly/i,
      /; SameSite=strict/i,
      /; Path=\/console\/session/,
      /; Max-Age=15552000/,
    ])
      expect(whole).toMatch(part)
    expect(whole).not.toMatch(/Secure/)
    const tls = await deviceOf(web.url, PASSWORD, { ...fromElsewhere(), 'x-forwarded-proto': 'https' })
    expect(tls.whole).toMatch(/; Secure/)
    expect((await attempt(web.url, 'wrong', fromElsewhere())).devices).toEqual([])
  })

  it('is invalid after the password was changed', async () => {
    const changed = `${PASSWORD}-changed`
    const { cookie } = await deviceOf(web.url)
    await using after = await startWeb({ OPERATOR_PASSWORD: changed })
    const headers = fromElsewhere()
    await failUntilDelayed(after.url, headers)
    expect((await attempt(after.url, changed, { ...headers, cookie })).isDelayed).toBe(true)
    const { cookie: newer } = await deviceOf(after.url, changed)
    expect((await attempt(after.url, changed, { ...headers, cookie: newer })).status).toBe(true)
  })
})

describe('Actions of the console', () => {
  const acting = routes.filter((route) => methodsOf(route).includes('POST')).map(({ path }) => path)

  /** Fields of all forms, with IDs that do not exist. */
  const postTo = (path: string, cookie: string, headers: Record<string, string>) =>
    fetch(web.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, ...headers },
      body: new URLSearchParams({ action: 'purge', spool: 'none', all: '1', password: PASSWORD }),
    })

  it('are those on the spool and the inbox, a test of alerts, signing in and signing out', () => {
    expect(acting.toSorted()).toEqual([
      '/console/alerts/test',
      '/console/inbox/1/delete',
      '/console/session',
      '/console/sign-out',
      '/console/spool/act',
    ])
  })

  it.each(ELSEWHERE)('do nothing for %s, although an operator is signed in', async (_, headers) => {
    const { cookie = '' } = await signIn(web.url, { headers: fromElsewhere() })
    for (const path of acting)
      expect([path, (await postTo(path, cookie, headers)).status]).toEqual([path, 403])
    expect((await get(`${web.url}/console/session`, cookie)).status).toBe(204)
  })

  it('run for a page of this site', async () => {
    const ours = { origin: web.url, 'sec-fetch-site': 'same-origin' }
    for (const path of acting) {
      const { cookie = '' } = await signIn(web.url, { headers: fromElsewhere() })
      const expected = path === '/console/alerts/test' ? 502 : 303 // no tunnel sends it
      expect([path, (await postTo(path, cookie, ours)).status]).toEqual([path, expected])
    }
  })
})

describe('The documentation', () => {
  it('has its pages and their images for an operator, and nothing else', async () => {
    const { cookie = '' } = await signIn(web.url, { headers: fromElsewhere() })
    const ask = async (path: string) => {
      const response = await get(`${web.url}/console/docs${path}`, cookie)
      const text = await response.text()
      return [response.status, response.headers.get('content-type')?.split(';')[0], text] as const
    }
    const page = (text: string) => [200, 'text/html', expect.stringContaining(text)]
    expect(await ask('')).toEqual(page('href="/console/docs/runbook"'))
    expect(await ask('/runbook')).toEqual(page('id="culvertaway"'))
    expect(await ask('/console')).toEqual(page('src="/console/docs/images/console-overview.webp"'))
    expect(await ask('/images/console-overview.webp')).toEqual([200, 'image/webp', expect.any(String)])
    expect(await ask('/images/cost.svg')).toEqual([200, 'image/svg+xml', expect.any(String)])
    for (const path of ['/none', '/constructor', '/images/pages.json', '/images/..%2Fserver.js'])
      expect([path, (await ask(path))[0]]).toEqual([path, 404])
  })
})

describe('A link to the console', () => {
  it.each([
    '/console/live-feed?outcome=rejected&reason=dsn-unknown',
    '/console/spool/7?spool=abc',
    '/console/spool?project=sentry.example%2F1&category=error&order=oldest&after=abc%3D12',
    '/console/inbox?type=event&after=http%253A%252F%252Ftunnel%3D7',
    '/console/inbox/7?from=a+chat',
  ])('opens the whole URL after sign-in, like %s', async (path) => {
    const asked = await get(web.url + path)
    const signInPage = new URL(asked.headers.get('location') ?? '', web.url)
    const to = signInPage.searchParams.get('to') ?? ''
    const { location, cookie } = await signIn(web.url, { to, headers: fromElsewhere() })
    expect(location).toBe(path)
    expect((await get(signInPage.href, cookie)).headers.get('location')).toBe(path)
  })
})

describe('A session', () => {
  it('ends with signing out, also for a copy of its cookie', async () => {
    const { cookie = '' } = await signIn(web.url, { headers: fromElsewhere() })
    const feed = await get(`${web.url}/console/receipts`, cookie)
    expect(feed.status).toBe(200)
    const out = await signOut(web.url, { cookie, origin: web.url })
    expect([out.status, out.headers.get('location')]).toEqual([303, '/console/sign-in'])
    expect((await get(`${web.url}/console/session`, cookie)).status).toBe(401)
    expect((await get(`${web.url}/console`, cookie)).status).toBe(307)
    await feed.body?.cancel()
  })

  it('outlasts a restart of web, and signing out after it ends copies of its cookie for good', async () => {
    await using tunnel = await openTunnel()
    await using before = await startWebOver(tunnel)
    const { cookie = '' } = await signIn(before.url)
    await before.stop()
    await using after = await startWebOver(tunnel)
    expect((await get(`${after.url}/console/session`, cookie)).status).toBe(204)
    await signOut(after.url, { cookie, origin: after.url })
    await after.stop()
    await using last = await startWebOver(tunnel)
    expect((await get(`${last.url}/console/session`, cookie)).status).toBe(401)
  })

  it('ends for a copied cookie while its live feed is open', async () => {
    const { cookie = '' } = await signIn(web.url, { headers: fromElsewhere() })
    const stolen = await get(`${web.url}/console/live`, cookie)
    expect(stolen.status).toBe(200)
    await signOut(web.url, { cookie, origin: web.url })
    await stolen.text() // it ends: otherwise the loop would read on
    for (const path of ['/console/live', '/console/receipts', '/console/session'])
      expect((await get(web.url + path, cookie)).status).toBe(401)
    expect((await signIn(web.url, { headers: fromElsewhere() })).cookie).not.toBe(cookie)
  })

  it('ends when the password is changed', async () => {
    await using before = await startWeb({ OPERATOR_PASSWORD: PASSWORD })
    const { cookie = '' } = await signIn(before.url)
    expect((await get(`${before.url}/console/session`, cookie)).status).toBe(204)
    await before.stop()
    const changed = `${PASSWORD}-changed`
    await using after = await startWeb({ OPERATOR_PASSWORD: changed })
    expect((await get(`${after.url}/console/session`, cookie)).status).toBe(401)
    expect((await signIn(after.url)).cookie).toBeUndefined()
    expect((await signIn(after.url, { password: changed })).cookie).toBeDefined()
  })

  it('cannot be forged with the algorithm of the cookie and without its key', async () => {
    const { cookie = '' } = await signIn(web.url, { headers: fromElsewhere() })
    const sealed = async (key: string) =>
      `culvert_console=${await sealData({ id: 'mine' }, { password: key })}`
    const changed = cookie.slice(0, 60) + (cookie[60] === 'a' ? 'b' : 'a') + cookie.slice(61)
    for (const forged of [
      await sealed('0'.repeat(64)),
      await sealed(PASSWORD.repeat(3)),
      cookie.slice(0, -3),
      changed,
    ])
      expect((await get(`${web.url}/console/session`, forged)).status).toBe(401)
  })
})

describe('Without OPERATOR_PASSWORD', () => {
  it('the console is off, and a page names the setting that enables it', async () => {
    await using closed = await startWeb({})
    for (const path of ['/console', '/console/live-feed', '/console/inbox/1'])
      expect((await get(closed.url + path)).status).toBe(307)
    const page = await (await fetch(`${closed.url}/console/live-feed`)).text()
    expect(page).toContain('The console is off: no password is set.')
    expect(page).toContain('OPERATOR_PASSWORD=')
    expect(page).not.toContain('type="password"')
    expect((await signIn(closed.url, { password: '' })).cookie).toBeUndefined()
  })
})

describe('With a hash as OPERATOR_PASSWORD', () => {
  it('the password signs in, and the hash does not', async () => {
    const hash = await hashPassword(PASSWORD)
    expect(hash).not.toContain('$')
    await using hashed = await startWeb({ OPERATOR_PASSWORD: hash })
    expect((await signIn(hashed.url, { password: hash })).cookie).toBeUndefined()
    expect((await signIn(hashed.url)).cookie).toBeDefined()
  })
})
