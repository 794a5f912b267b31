/** Recipes of `deploy/proxies/` for development servers. */

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post } from '../../support/post.ts'
import { DEVELOPMENT_SERVERS, startDevelopmentServer } from '../../support/proxies/development-servers.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'

describe.each(DEVELOPMENT_SERVERS)('deploy/proxies/$file', (recipe) => {
  const started = new AsyncDisposableStack()
  let tunnel: Upstream
  let url: string

  beforeAll(async () => {
    tunnel = started.use(await startUpstream('tunnel'))
    url = started.use(await startDevelopmentServer(recipe, tunnel.address)).url
  })

  afterAll(() => started.disposeAsync())

  beforeEach(() => {
    tunnel.asked.length = 0
  })

  it.each(['/monitoring?p=456&o=1&r=us', '/monitoring/reports?p=456', '/monitoring/sdk.js?p=456'])(
    'forwards %s to the tunnel',
    async (path) => {
      expect(await post(url, { path })).toMatchObject({ status: 200, text: 'tunnel' })
      expect(tunnel.asked).toMatchObject([{ method: 'POST', url: path }])
    },
  )

  it('does not redirect /monitoring/', async () => {
    expect(await post(url, { path: '/monitoring/' })).toMatchObject({ status: 200, text: 'tunnel' })
  })

  it('forwards a body of 20 MB unmodified', async () => {
    const body = randomBytes(20_000_000)
    const headers = { 'content-encoding': 'gzip' }
    expect(await post(url, { body, headers })).toMatchObject({ status: 200 })
    expect(tunnel.asked[0]?.headers).toMatchObject(headers)
    expect(tunnel.asked[0]?.body.equals(body)).toBe(true)
  })

  if (recipe.file === 'next.config.ts') return // rewrites leave headers as they are

  it('forwards no other path', async () => {
    await post(url, { path: '/monitoring-room', method: 'GET', headers: { accept: 'text/html' } })
    expect(tunnel.asked).toEqual([])
  })

  it('removes credentials and headers of Culvert, and replaces the client address', async () => {
    const removed = { cookie: '1', authorization: '1', 'x-request-id': '1', 'x-culvert-retry': '1' }
    await post(url, { headers: { ...removed, 'x-forwarded-for': '198.51.100.7' } })
    expect(tunnel.asked[0]?.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' })
    for (const name of Object.keys(removed)) expect(tunnel.asked[0]?.headers).not.toHaveProperty(name)
  })
})
