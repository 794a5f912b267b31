/** Browser reports through nginx: their route, and the headers of the documentation that ask browsers for them. */

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

describe('nginx', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let tunnel: Upstream
  let nginx: Nginx

  beforeAll(async () => {
    tunnel = started.use(await startUpstream('tunnel'))
    nginx = started.use(
      await startNginx({
        tunnels: [tunnel.address],
        web: tunnel.address,
        env: { TUNNEL_PATHS: '/errors/in-here|/monitoring' },
      }),
    )
  })

  afterAll(() => started.disposeAsync())

  it.each(['/errors/in-here/reports?p=456', '/monitoring/reports'])(
    'sends %s to the tunnel without cookies',
    async (path) => {
      const headers = { cookie: 'session=secret', 'content-type': 'application/csp-report' }
      expect(await post(nginx.url, { path, headers, body: '{}' })).toMatchObject({ text: 'tunnel' })
      expect(tunnel.asked.at(-1)).toMatchObject({ method: 'POST', url: path })
      expect(tunnel.asked.at(-1)?.headers).not.toHaveProperty('cookie')
    },
  )

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
