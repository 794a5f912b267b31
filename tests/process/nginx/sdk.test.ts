/** The built SDK through nginx. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Request } from '@ghostery/adblocker'
import { parse } from 'acorn'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildSdk } from '../../../scripts/build/sdk.ts'
import { MANIFEST_FILE, SDK_FOLDER, type SdkManifest } from '../../../tunnel/sdk/manifest.ts'
import { listFiles, readLists, readRules } from '../../support/browser/adblock.ts'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

describe('nginx', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let tunnel: Upstream
  let web: Upstream
  let nginx: Nginx

  beforeAll(async () => {
    tunnel = started.use(await startUpstream('tunnel'))
    web = started.use(await startUpstream('web'))
    const env = { TUNNEL_PATHS: '/monitoring|/errors/in-here' }
    nginx = started.use(await startNginx({ tunnels: [tunnel.address], web: web.address, env }))
  })

  afterAll(() => started.disposeAsync())

  it.each([
    '/monitoring/sdk.js',
    '/monitoring/sdk.js?p=2',
    '/errors/in-here/sdk.js',
    '/monitoring/sdk/errors-0123456789abcdef.js',
  ])('sends %s to the tunnel without cookies and credentials', async (path) => {
    const headers = { cookie: 'session=secret', authorization: 'Bearer secret' }
    expect(await post(nginx.url, { method: 'GET', path, headers })).toMatchObject({
      status: 200,
      text: 'tunnel',
    })
    expect(tunnel.asked.at(-1)).toMatchObject({ method: 'GET', url: path })
    expect(Object.keys(tunnel.asked.at(-1)?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(cookie|authorization)$/)]),
    )
  })

  it.each(['/monitoring/sdk', '/monitoring/sdk.js/x', '/monitoring/sdk/a/b.js', '/monitoring/sdkxjs'])(
    'sends %s to web',
    async (path) => {
      expect(await post(nginx.url, { method: 'GET', path })).toMatchObject({ text: 'web' })
    },
  )
})

describe('The SDK', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let nginx: Nginx
  let manifest: SdkManifest

  beforeAll(async () => {
    await buildSdk(ROOT)
    manifest = JSON.parse(readFileSync(join(ROOT, 'tunnel', SDK_FOLDER, MANIFEST_FILE), 'utf8'))
    const env = {
      SENTRY_DSN: `https://${'0123456789abcdef'.repeat(2)}@o1234567890.ingest.us.sentry.io/1234567890`,
      SENTRY_RELEASE: '<script>\u2028"-->shop@1',
      SENTRY_ENVIRONMENT: 'production',
    }
    const tunnel = started.use(await startTunnel({ env }))
    nginx = started.use(await startNginx({ tunnels: [`127.0.0.1:${tunnel.port}`], web: '127.0.0.1:1' }))
  })

  afterAll(() => started.disposeAsync())

  const get = (path: string, encoding: string) =>
    fetch(`${nginx.url}${path}`, { headers: { 'accept-encoding': encoding } })

  it.each(['br', 'gzip'])('has a loader of less than 2.7 KB with %s', async (encoding) => {
    const { headers } = await get('/monitoring/sdk.js', encoding)
    expect(headers.get('content-encoding')).toBe(encoding)
    expect(Number(headers.get('content-length'))).toBeGreaterThan(500)
    expect(Number(headers.get('content-length'))).toBeLessThan(2700)
  })

  it('serves files with no syntax beyond ES2020', async () => {
    const files = Object.values(manifest.bundles).map(({ file }) => `sdk/${file}`)
    for (const file of ['sdk.js', 'sdk/reach.js', ...files]) {
      const response = await get(`/monitoring/${file}`, 'br')
      expect(response.status).toBe(200)
      parse(await response.text(), { ecmaVersion: 2020 })
    }
  })

  it('keeps a hostile release in its string', async () => {
    const text = await (await get('/monitoring/sdk.js', 'br')).text()
    expect(text).toContain('"release":"\\u003cscript\\u003e\\u2028\\"--\\u003eshop@1"')
  })

  it.each(['errors', 'tracing', 'replay', 'feedback'] as const)(
    'has a bundle %s with the integrity and the size of the manifest',
    async (name) => {
      const { file, integrity, br, raw } = manifest.bundles[name]
      const response = await get(`/monitoring/sdk/${file}`, 'br')
      expect(response.headers.get('content-length')).toBe(String(br))
      const bytes = Buffer.from(await response.arrayBuffer())
      expect(bytes.length).toBe(raw)
      expect(`sha384-${createHash('sha384').update(bytes).digest('base64')}`).toBe(integrity)
      expect(bytes.toString()).not.toContain('sourceMappingURL')
    },
  )

  it('keeps its bundles small', () => {
    const { errors, tracing, replay, feedback } = manifest.bundles
    expect(errors.gzip).toBeLessThan(40_300)
    expect(tracing.gzip).toBeLessThan(60_300)
    expect(replay.gzip).toBeLessThan(54_000)
    expect(feedback.gzip).toBeLessThan(26_000) // with the texts of 18 languages
  })

  it.each([
    { rules: 'the rules of the tests', read: readRules },
    ...(listFiles().length > 0 ? [{ rules: 'the real lists', read: readLists }] : []),
  ])('has no URL that $rules block', ({ read }) => {
    const engine = read()
    const files = Object.entries(manifest.bundles).flatMap(([name, { file }]) => [file, `${name}.js`])
    for (const path of ['sdk.js', 'sdk.js?p=2', ...files.map((file) => `sdk/${file}`)])
      for (const sourceUrl of ['https://shop.example/', 'https://other.example/']) {
        const url = `https://shop.example/monitoring/${path}`
        expect(engine.match(Request.fromRawDetails({ url, type: 'script', sourceUrl })).match, url).toBe(
          false,
        )
      }
    const url = `https://shop.example/monitoring?p=1234567890&o=1234567890&r=us&keep=1` // of its transport
    for (const type of ['fetch', 'xhr', 'beacon'] as const) {
      const request = Request.fromRawDetails({ url, type, sourceUrl: 'https://shop.example/' })
      expect(engine.match(request).match, type).toBe(false)
    }
  })
})
