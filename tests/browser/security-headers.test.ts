/** Security headers of every document, checked in Chromium. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shareChromium } from '../support/browser/chromium.ts'
import { type Nginx, startNginx } from '../support/nginx/nginx.ts'
import { requires } from '../support/requirements.ts'
import { BREAKABLE, startWeb, type Web } from '../support/web/web.ts'

const DOCUMENTS = [
  ['a page', '/', 200],
  ['the not-found page', '/no-such-page', 404],
  ['the not-found page for an internal path of Next.js', '/_global-error', 404],
  ['the error page that Next.js renders', '/?break', 500],
  ['the fallback error page of Next.js', '/?break=next', 500],
] as const

const started = new AsyncDisposableStack()
let web: Web

beforeAll(async () => {
  const env = { SENTRY_DSN: 'https://abc@o123.ingest.us.sentry.io/456', LAB: 'on', NODE_OPTIONS: BREAKABLE }
  web = started.use(await startWeb(env))
}, 180_000)

afterAll(() => started.disposeAsync())

/** Returns the directives of a policy by name. */
function policyOf({ headers }: Response): Record<string, string> {
  const directives = headers.get('content-security-policy')?.split('; ') ?? []
  return Object.fromEntries(directives.map((each) => each.split(/ (.*)/s)))
}

const nonceOf = (response: Response) => /'nonce-([^']+)'/.exec(policyOf(response)['script-src'] ?? '')?.[1]

const REPORTING = ['reporting-endpoints', 'report-to', 'nel']

async function headersOver(scheme: string, path: string): Promise<Record<string, string>> {
  const { headers } = await fetch(web.url + path, { headers: { 'x-forwarded-proto': scheme } })
  return Object.fromEntries(headers)
}

describe.each(DOCUMENTS)('The document of %s', (_, path, status) => {
  it('has its own nonce, and all its scripts have it', async () => {
    const [response, other] = [await fetch(web.url + path), await fetch(web.url + path)]
    expect(response.status).toBe(status)
    const nonce = nonceOf(response)
    expect(nonce).toMatch(/^[\w-]{22,}$/)
    expect(nonceOf(other)).not.toBe(nonce)
    const scripts = (await response.text()).match(/<script\b[^>]*>/g) ?? []
    expect(scripts.length).toBeGreaterThan(3)
    expect(scripts.filter((tag) => !tag.includes(`nonce="${nonce}"`))).toEqual([])
  })

  it('allows content of this site only', async () => {
    const response = await fetch(web.url + path)
    const { 'script-src': script, 'connect-src': connect, ...others } = policyOf(response)
    expect(script).toBe(`'nonce-${nonceOf(response)}' 'strict-dynamic' 'report-sample'`)
    expect(connect?.replace(' https://o123.ingest.us.sentry.io', '')).toBe("'self'")
    expect(Object.values(others).join(' ')).not.toMatch(/unsafe|\*|https?:/)
    expect(others).toMatchObject({
      'default-src': "'self'",
      'object-src': "'none'",
      'base-uri': "'none'",
      'frame-ancestors': "'none'",
    })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'strict-origin-when-cross-origin',
      'permissions-policy': expect.stringContaining('microphone=()'),
    })
    expect(response.headers.has('x-powered-by')).toBe(false)
  })

  it('has Strict-Transport-Security, and asks for reports, when it was requested by HTTPS', async () => {
    const [secure, plain] = await Promise.all(['https', 'http'].map((scheme) => headersOver(scheme, path)))
    expect(secure).toMatchObject({
      'strict-transport-security': 'max-age=31536000',
      'reporting-endpoints': 'default="/monitoring/reports?p=456&o=123&r=us"',
      'report-to': expect.stringContaining('"default"'),
      nel: expect.stringContaining('"default"'),
    })
    for (const name of ['strict-transport-security', ...REPORTING]) expect(plain).not.toHaveProperty(name)
  })
})

it('the console asks for no reports', async () => {
  const headers = await headersOver('https', '/console/sign-in')
  for (const name of REPORTING) expect(headers).not.toHaveProperty(name)
})

it('the connection check may connect to the origin of Sentry, and no other page may', async () => {
  const connect = async (path: string) => policyOf(await fetch(web.url + path))['connect-src']
  expect(await connect('/')).toBe("'self' https://o123.ingest.us.sentry.io")
  expect(await connect('/no-such-page')).toBe("'self'")
})

describe('A script in Chromium', requires('chromium'), () => {
  it('does not run when it was injected into a page', async () => {
    const chromium = await shareChromium()
    await using visitor = await chromium.visitor()
    visitor.expectTrouble(/inline script.*Content Security Policy/)
    visitor.expectTrouble(/status of 404.*\/monitoring\/reports/) // the report: no tunnel runs here
    await visitor.page.route(`${web.url}/lab`, async (route) => {
      const response = await route.fetch()
      const html = (await response.text()).replace('</head>', '<script>smuggled = true</script></head>')
      await route.fulfill({ response, body: html })
    })
    await visitor.page.goto(`${web.url}/lab`)
    const ran = await visitor.page.evaluate(() => 'smuggled' in globalThis)
    expect(ran).toBe(false)
  })
})

describe('nginx', requires('nginx'), () => {
  let nginx: Nginx

  beforeAll(async () => {
    nginx = started.use(await startNginx({ tunnels: ['127.0.0.1:1'], web: `127.0.0.1:${web.port}` }))
  })

  it('serves static files compressed, with brotli when the browser accepts it, and as immutable', async () => {
    const html = await (await fetch(nginx.url)).text()
    const files = [...html.matchAll(/"(\/console\/_next\/static\/[^"]+\.(?:js|css))"/g)].map(
      ([, file]) => file,
    )
    expect(files.length).toBeGreaterThan(3)
    for (const file of files)
      for (const [taken, coding] of [
        ['gzip, deflate', 'gzip'],
        ['gzip, deflate, br', 'br'],
        ['gzip, deflate', 'gzip'], // although another encoding was requested in between
      ] as const) {
        const { headers } = await fetch(nginx.url + file, { headers: { 'accept-encoding': taken } })
        expect(Object.fromEntries(headers)).toMatchObject({
          'cache-control': 'public, max-age=31536000, immutable',
          'content-encoding': coding,
          vary: expect.stringContaining('Accept-Encoding'),
          'x-content-type-options': 'nosniff',
        })
      }
  })

  it('serves the icon at /favicon.ico', async () => {
    const response = await fetch(`${nginx.url}/favicon.ico`)
    expect(response.headers.get('content-type')).toBe('image/x-icon')
    expect((await response.bytes()).length).toBeLessThan(2048)
  })
})
