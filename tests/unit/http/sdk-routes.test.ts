/** Routes of the SDK below the tunnel paths. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Posting, post } from '../../support/post.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { writeSdk } from '../../support/tunnel/sdk.ts'

const FRIEND = 'https://friend.example'
const CLOUD_DSN = 'https://nine@o1.ingest.us.sentry.io/9'
const SENTRY_DSN = `https://one@sentry.example/1 https://two@sentry.example/2 ${CLOUD_DSN}`
const FILE = '/monitoring/sdk/errors-0123456789abcdef.js'

describe('A tunnel with an SDK', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel

  beforeAll(async () => {
    const folder = started.use(await makeFolder())
    await writeSdk(folder.path)
    const env = { SENTRY_DSN, TUNNEL_PATHS: '/monitoring|/other/path', ALLOWED_ORIGINS: FRIEND }
    tunnel = started.use(await openTunnel({ env, sdkFolder: folder.path }))
  })

  afterAll(() => started.disposeAsync())

  const get = (path: string, posting: Posting = {}) => post(tunnel.url, { method: 'GET', path, ...posting })

  it.each(['/monitoring/sdk.js', '/other/path/sdk.js'])('serves the loader at %s', async (path) => {
    const { status, headers, text } = await get(path)
    expect(status).toBe(200)
    expect(text).toContain('https://one@sentry.example/1')
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=300, stale-while-revalidate=3600',
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding, origin',
    })
  })

  it('counts the requests of pages for the loader', async () => {
    const { counters } = tunnel.services
    const before = counters.figures().sdk_loads
    await get('/monitoring/sdk.js')
    await get('/monitoring/sdk.js?p=2')
    await get('/monitoring/sdk.js', { method: 'HEAD' })
    await get('/monitoring/sdk.js?p=99')
    await get(FILE)
    expect(counters.figures().sdk_loads).toBe(before + 2)
  })

  it('serves the loader of the project that the query names', async () => {
    expect((await get('/monitoring/sdk.js?p=2')).text).toContain('https://two@sentry.example/2')
  })

  it.each([FILE, '/other/path/sdk/replay-0123456789abcdef.js'])('serves %s for a year', async (path) => {
    const { status, headers, text } = await get(path)
    expect(status).toBe(200)
    expect(path).toContain(`/${text}-`)
    expect(headers).toMatchObject({ 'cache-control': 'public, max-age=31536000, immutable' })
  })

  it('responds to HEAD with the headers of GET', async () => {
    const { status, headers, text } = await get(FILE, { method: 'HEAD' })
    expect({ status, text }).toEqual({ status: 200, text: '' })
    expect(headers).toMatchObject({ 'content-length': '6', etag: expect.stringMatching(/^"\w+-identity"$/) })
  })

  it('responds with 304 to its own ETag', async () => {
    const { headers } = await get('/monitoring/sdk.js')
    const again = await get('/monitoring/sdk.js', { headers: { 'if-none-match': String(headers.etag) } })
    expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' })
  })

  it('lets pages of ALLOWED_ORIGINS load the script, and no others', async () => {
    const friend = await get(FILE, { headers: { origin: FRIEND } })
    expect(friend.headers).toMatchObject({
      'access-control-allow-origin': FRIEND,
      'cross-origin-resource-policy': 'cross-origin',
    })
    const { headers } = await get(FILE, { headers: { origin: 'https://evil.example' } })
    expect(headers['access-control-allow-origin']).toBeUndefined()
    expect(headers['cross-origin-resource-policy']).toBe('same-origin')
  })

  it('lets pages of ALLOWED_ORIGINS read that a bundle is unknown', async () => {
    const path = '/monitoring/sdk/errors-0000000000000000.js'
    expect(await get(path, { method: 'HEAD', headers: { origin: FRIEND } })).toMatchObject({
      status: 404,
      headers: { 'access-control-allow-origin': FRIEND },
    })
  })

  it.each([
    ['/monitoring/sdk.js?p=3', 404, 'project-unknown'],
    ['/monitoring/sdk.js?o=1', 404, 'project-unknown'],
    ['/monitoring/sdk.js?r=us', 404, 'project-unknown'],
    ['/monitoring/sdk.js?p=01', 400, 'query-malformed'],
    ['/monitoring/sdk/errors-0000000000000000.js', 404, 'sdk-file-unknown'],
    ['/monitoring/sdk/manifest.json', 404, 'sdk-file-unknown'],
    ['/monitoring/sdk/..%2f..%2fpackage.json', 404, 'sdk-file-unknown'],
    ['/monitoring/sdk', 404, 'path-unknown'],
  ])('responds to %s with %i %s', async (path, status, code) => {
    expect(await get(path)).toMatchObject({ status, json: { code, request_id: expect.any(String) } })
  })

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'] as const)('responds to %s with 405', async (method) => {
    for (const path of ['/monitoring/sdk.js', FILE])
      expect(await get(path, { method })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD' },
        json: { code: 'method-unknown' },
      })
  })
})

describe('Tunnels of two releases that share a spool', () => {
  it('serve the bundles of each other for a year', async () => {
    await using folder = await makeFolder()
    const files: string[] = []
    const tunnels: Tunnel[] = []
    await using started = new AsyncDisposableStack()
    for (const release of ['first', 'second']) {
      const sdkFolder = join(folder.path, release)
      const { bundles } = await writeSdk(sdkFolder, release)
      files.push(bundles.errors.file)
      const env = { SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href, SENTRY_DSN }
      tunnels.push(started.use(await openTunnel({ env, sdkFolder })))
    }
    expect(new Set(files).size).toBe(2)
    for (const { url } of tunnels)
      for (const [index, file] of files.entries())
        expect(await post(url, { method: 'GET', path: `/monitoring/sdk/${file}` })).toMatchObject({
          status: 200,
          text: index === 0 ? 'first errors' : 'second errors',
          headers: { 'cache-control': 'public, max-age=31536000, immutable', etag: expect.any(String) },
        })
  })
})

describe('A tunnel that cannot read the bundles of other releases', () => {
  it('responds with 503 to a bundle of another release, and serves its own', async () => {
    await using folder = await makeFolder()
    await writeSdk(join(folder.path, 'sdk'))
    const file = join(folder.path, 'spool.db')
    const env = { SPOOL_URL: pathToFileURL(file).href, SENTRY_DSN }
    await using tunnel = await openTunnel({ env, sdkFolder: join(folder.path, 'sdk') })
    using db = new DatabaseSync(file, { timeout: 10_000 })
    db.exec('DROP TABLE bundles')
    const path = '/monitoring/sdk/errors-fedcba9876543210.js'
    expect(await post(tunnel.url, { method: 'GET', path })).toMatchObject({
      status: 503,
      json: { code: 'sdk-store-away', detail: expect.stringContaining('SPOOL_URL') },
      headers: { 'cache-control': 'no-store' },
    })
    expect(await post(tunnel.url, { method: 'GET', path: FILE })).toMatchObject({ status: 200 })
  })
})

describe('A tunnel without an SDK', () => {
  it.each([
    ['without a build', async () => {}],
    [
      'without a file of the manifest',
      async (folder: string) => {
        const { bundles } = await writeSdk(folder)
        await rm(join(folder, bundles.replay.file))
      },
    ],
  ])('responds with 503 %s, and names the remedy', async (_, prepare) => {
    await using folder = await makeFolder()
    await prepare(folder.path)
    await using tunnel = await openTunnel({ sdkFolder: folder.path })
    for (const path of ['/monitoring/sdk.js', FILE])
      expect(await post(tunnel.url, { method: 'GET', path })).toMatchObject({
        status: 503,
        json: { code: 'sdk-missing', detail: expect.stringContaining('npm run build:sdk') },
        headers: { 'cache-control': 'no-store' },
      })
  })
})
