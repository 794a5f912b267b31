/** Next.js app that was set up by Sentry's documentation, with the changes of README.md. */

import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { parseDsn } from '../../contract/dsn.ts'
import { runStep } from '../../scripts/progress.mjs'
import { freePort } from '../../scripts/start/free-port.ts'
import { startChromium } from '../support/browser/chromium.ts'
import { NODE, ROOT } from '../support/node.ts'
import { startProgram } from '../support/program.ts'
import { requires } from '../support/requirements.ts'
import { eventOf, hasItem } from '../support/sentry/received-request.ts'
import { readCertificate, startSentry } from '../support/sentry/sentry.ts'
import { startSite } from '../support/site.ts'

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const [, NEXT_SNIPPET = ''] = /```ts\n(\/\/ instrumentation-client\.ts[\s\S]*?)```/.exec(README) ?? []
const [, DSN = ''] = /dsn: '([^']+)'/.exec(NEXT_SNIPPET) ?? []
const [, IN_BROWSER = ''] = /^ {2}(tunnel: '.+',)$/m.exec(NEXT_SNIPPET) ?? []
const [, ORIGIN = ''] = /(^const \{ TUNNEL_ORIGIN[\s\S]+?)^Sentry/m.exec(NEXT_SNIPPET) ?? []
const [, ON_SERVER = ''] = /^ {2}(tunnel: TUNNEL_ORIGIN .+,)$/m.exec(NEXT_SNIPPET) ?? []

const NEXT = join(ROOT, 'node_modules/next/dist/bin/next')
const FOLDER = join(ROOT, '.culvert/own-next-app')

/** Files of the app before the changes. */
const APP: Record<string, string> = {
  'package.json': '{ "name": "shop", "private": true }',
  'next.config.mjs': `
    import { withSentryConfig } from '@sentry/nextjs/config'
    const build = { sourcemaps: { disable: true }, silent: true, telemetry: false }
    export default withSentryConfig({ turbopack: { root: ${JSON.stringify(ROOT)} } }, {
      ...build,
      tunnelRoute: '/monitoring',
    })`,
  'instrumentation.js': `
    import * as Sentry from '@sentry/nextjs'
    export const register = () => import('./sentry.server.config.js')
    export const onRequestError = Sentry.captureRequestError`,
  'sentry.server.config.js': `
    import * as Sentry from '@sentry/nextjs'
    Sentry.init({
      dsn: '${DSN}',
    })`,
  'instrumentation-client.js': `
    import * as Sentry from '@sentry/nextjs'
    Sentry.init({
      dsn: '${DSN}',
    })
    export const onRouterTransitionStart = Sentry.captureRouterTransitionStart`,
  'app/layout.js': `
    export const metadata = { title: 'A shop', icons: 'data:,' }
    export default ({ children }) => <html lang="en"><body>{children}</body></html>`,
  'app/page.js': 'export default () => <h1>A shop</h1>',
  'app/shelf/route.js': `
    export const dynamic = 'force-dynamic'
    export function GET() { throw new Error('The shelf is empty') }`,
}

/** Lines that the changes add: one each, and at most the origin of the tunnel. */
function change(app: Record<string, string>): Record<string, string> {
  const addTunnel = (file: string, line: string) => app[file]?.replace(/(dsn: .+,)/, `$1\n${line}`) ?? ''
  return {
    ...app,
    'next.config.mjs': app['next.config.mjs']?.replace(/^ *tunnelRoute.*$/m, '') ?? '',
    'instrumentation-client.js': addTunnel('instrumentation-client.js', IN_BROWSER),
    'sentry.server.config.js': addTunnel('sentry.server.config.js', ON_SERVER).replace(
      /^ *Sentry\.init/m,
      `${ORIGIN}Sentry.init`,
    ),
  }
}

async function build(app: Record<string, string>): Promise<void> {
  await rm(FOLDER, { recursive: true, force: true })
  for (const [file, text] of Object.entries(app)) {
    await mkdir(dirname(join(FOLDER, file)), { recursive: true })
    await writeFile(join(FOLDER, file), text)
  }
  await runStep('Building a Next.js app of somebody else', [NODE, NEXT, 'build'], {
    cwd: FOLDER,
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
  })
}

async function startApp(port: number, tunnelOrigin: string) {
  const program = startProgram(
    'The app',
    NODE,
    [NEXT, 'start', FOLDER, '-H', '127.0.0.1', '-p', String(port)],
    {
      TUNNEL_ORIGIN: tunnelOrigin,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
    },
  )
  await program.line((line) => line.includes('Ready'), 60_000)
  return { [Symbol.asyncDispose]: program.kill }
}

it('A Next.js app with the changes of README.md reports errors of browser and server', {
  ...requires('chromium', 'nginx'),
  timeout: 300_000, // needs a build first
}, async () => {
  await build(change(APP))
  const { host = '', publicKey = '' } = parseDsn(DSN) ?? {}
  await using sentry = await startSentry({ tls: readCertificate(), projects: { 2: publicKey } })
  const reroute = { [`${host}:443`]: `127.0.0.1:${sentry.port}` }
  const port = await freePort()
  const env = { SENTRY_DSN: DSN, APP_URL: `http://127.0.0.1:${port}` }
  await using site = await startSite({ env, reroute })
  const url = `http://127.0.0.1:${site.port}`
  await using _app = await startApp(port, site.innerUrl)
  await using chromium = await startChromium()
  await using visitor = await chromium.visitor()
  visitor.expectTrouble(/uncaught Error: The basket is empty/)
  visitor.expectTrouble(/500 \(Internal Server Error\)/)
  visitor.expectTrouble(/ERR_NAME_NOT_RESOLVED/) // the connection check tries Sentry directly
  visitor.allowTrouble(/POST \S+\/monitoring\S* net::ERR_ABORTED/) // of a page that is left

  await visitor.page.goto(url)
  await visitor.page.evaluate(
    () =>
      void setTimeout(() => {
        throw new Error('The basket is empty')
      }),
  )
  expect(await reported('The basket is empty')).toMatchObject({ platform: 'javascript' })
  await visitor.page.evaluate(() => fetch('/shelf').then((response) => response.text()))
  expect(await reported('The shelf is empty')).toMatchObject({ platform: 'node' })
  // The pages of web, an app of Next.js too, find their own scripts beside it.
  await visitor.page.goto(`${url}/console/check`)
  await visitor.page.getByRole('heading', { name: 'Checking what' }).waitFor({ state: 'detached' })

  async function reported(message: string) {
    const received = await sentry.next(
      (request) => hasItem('event')(request) && String(request.decoded).includes(message),
      { timeout: 30_000 },
    )
    return eventOf(received)
  }
})
