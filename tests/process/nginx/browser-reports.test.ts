/** Browser reports through nginx: their route, and the headers that ask browsers for them. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Request } from '@ghostery/adblocker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listFiles, readLists, readRules } from '../../support/browser/adblock.ts'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const HTTPS = { 'x-forwarded-proto': 'https' }
const URL_OF_REPORTS = '/errors/in-here/reports?p=456&o=123&r=us'

describe('nginx', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let tunnel: Upstream
  let nginx: Nginx

  beforeAll(async () => {
    tunnel = started.use(await startUpstream('tunnel'))
    const web = started.use(
      await startUpstream('web', (request, response) => {
        const isScript = request.url === '/script.js'
        const type = isScript ? 'text/javascript' : 'text/html; charset=utf-8'
        response.writeHead(request.url === '/missing' ? 404 : 200, { 'content-type': type }).end('web')
      }),
    )
    nginx = started.use(
      await startNginx({
        tunnels: [tunnel.address],
        web: web.address,
        env: {
          TUNNEL_PATHS: '/errors/in-here|/monitoring',
          TRUSTED_PROXIES: '127.0.0.1',
          SENTRY_DSN: 'https://abc@o123.ingest.us.sentry.io/456',
          LAB: 'on',
        },
      }),
    )
  })

  afterAll(() => started.disposeAsync())

  const get = (path: string, headers: Record<string, string> = {}) =>
    post(nginx.url, { method: 'GET', path, headers })

  it.each(['/errors/in-here/reports?p=456', '/monitoring/reports'])(
    'sends %s to the tunnel without cookies',
    async (path) => {
      const headers = { cookie: 'session=secret', 'content-type': 'application/csp-report' }
      expect(await post(nginx.url, { path, headers, body: '{}' })).toMatchObject({ text: 'tunnel' })
      expect(tunnel.asked.at(-1)).toMatchObject({ method: 'POST', url: path })
      expect(tunnel.asked.at(-1)?.headers).not.toHaveProperty('cookie')
    },
  )

  it.each(['/', '/missing'])('asks browsers of the document %s for reports', async (path) => {
    const { headers } = await get(path, HTTPS)
    expect(headers['reporting-endpoints']).toBe(`default="${URL_OF_REPORTS}"`)
    expect(JSON.parse(String(headers['report-to']))).toEqual({
      group: 'default',
      max_age: 86_400,
      endpoints: [{ url: URL_OF_REPORTS }],
    })
    expect(JSON.parse(String(headers.nel))).toEqual({ report_to: 'default', max_age: 86_400 })
    expect(headers['x-request-id']).toBeDefined()
  })

  it.each([
    ['over HTTP', '/', {}],
    ['of a script', '/script.js', HTTPS],
    ['to a visitor with Sec-GPC', '/', { ...HTTPS, 'sec-gpc': '1' }],
    ['of the console', '/console', HTTPS],
    ['below the console', '/console/live', HTTPS],
    ['of a tunnel path', '/monitoring', HTTPS],
  ])('does not ask browsers for reports in a response %s', async (_, path, given) => {
    const { headers } = await get(path, given)
    expect(headers).not.toHaveProperty('reporting-endpoints')
    expect(headers).not.toHaveProperty('report-to')
    expect(headers).not.toHaveProperty('nel')
  })

  it('adds the headers of the documentation for another server', async () => {
    const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
    const [, snippet = ''] = /^```nginx\n(.*?)^```$/ms.exec(page) ?? []
    await using web = await startUpstream('web')
    await using other = await startNginx({
      tunnels: [tunnel.address],
      web: web.address,
      env: { LAB: 'off' },
      change: (config) => config.replace('server_tokens off;', () => `server_tokens off;\n${snippet}`),
    })
    const { headers } = await post(other.url, { method: 'GET', path: '/' })
    expect(headers['content-security-policy-report-only']).toMatch(/report-uri \/monitoring\/reports\?p=456$/)
    expect(headers['reporting-endpoints']).toBe('default="/monitoring/reports?p=456"')
    expect(JSON.parse(String(headers['report-to']))).toMatchObject({ group: 'default' })
    expect(JSON.parse(String(headers.nel))).toMatchObject({ report_to: 'default' })
  })
})

describe('The URL of browser reports', () => {
  it.each([
    { rules: 'the rules of the tests', read: readRules },
    ...(listFiles().length > 0 ? [{ rules: 'the real lists', read: readLists }] : []),
  ])('is not blocked by $rules', ({ read }) => {
    const engine = read()
    for (const type of ['cspReport', 'ping', 'other'] as const)
      for (const query of ['', '?p=456', '?p=456&o=123&r=us']) {
        const url = `https://shop.example/monitoring/reports${query}`
        const request = Request.fromRawDetails({ url, type, sourceUrl: 'https://shop.example/' })
        expect(engine.match(request).match, `${type} ${url}`).toBe(false)
      }
  })
})
