/** Recipes of `deploy/proxies/` for development servers. */

import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startProgram } from '../../support/program.ts'
import { readRecipe } from '../../support/proxies/recipes.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'

type DevelopmentServer = {
  /** Name of the file in `deploy/proxies/`. */
  file: string
  /** Files of an app, besides the recipe. */
  app: Record<string, string>
  command: (folder: string, port: number) => string[]
}

const DEVELOPMENT_SERVERS: readonly DevelopmentServer[] = [
  {
    file: 'vite.config.ts',
    app: { 'index.html': '<title>Shop</title>' },
    command: (folder, port) => [
      ...[join(ROOT, 'node_modules/vite/bin/vite.js'), folder],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--strictPort'],
    ],
  },
  {
    file: 'next.config.ts',
    app: {
      'app/layout.js': 'default ({ children }) => <html lang="en"><body>{children}</body></html>',
      'app/page.js': 'default () => <h1>Shop</h1>',
    },
    command: (folder, port) => [
      ...[join(ROOT, 'node_modules/next/dist/bin/next'), 'dev', folder],
      ...['--hostname', '127.0.0.1', '--port', `${port}`],
    ],
  },
]

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

const STARTS_WITHIN = 90_000 // ms: the machine may be busy

/** Starts the server on a free port of 127.0.0.1, and waits until it is ready. `await using` stops it. */
async function startDevelopmentServer({ file, app, command }: DevelopmentServer, tunnel: string) {
  const folder = join(ROOT, '.culvert/recipes', file) // inside of the repository, where it finds packages
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'app'), { recursive: true })
  const recipe = readRecipe({ file }).replaceAll('127.0.0.1:9090', tunnel)
  for (const [name, text] of Object.entries({ ...app, [file]: recipe }))
    await writeFile(join(folder, name), text)
  const port = await freePort()
  const program = startProgram(file, NODE, command(folder, port), { NEXT_TELEMETRY_DISABLED: '1' })
  const stop = () => program.stop().catch(() => {}) // not every one ends with 0
  // Vite opens the port once before, to see whether it is free.
  await program
    .line((line) => /ready in/i.test(line), STARTS_WITHIN)
    .catch(async (error) => {
      await stop()
      throw error
    })
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop }
}
