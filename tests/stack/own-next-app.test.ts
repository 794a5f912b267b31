/** Next.js app with the files of docs/install.md, and with traces: its reports arrive, and its not-found page and signals do not. */

import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { parseDsn } from '../../contract/dsn.ts'
import { runStep } from '../../scripts/progress.mjs'
import { freePort } from '../../scripts/start/free-port.ts'
import { startChromium } from '../support/browser/chromium.ts'
import { startNginx } from '../support/nginx/nginx.ts'
import { NODE, ROOT } from '../support/node.ts'
import { startProgram } from '../support/program.ts'
import { requires } from '../support/requirements.ts'
import { eventOf, hasItem, type Received } from '../support/sentry/received-request.ts'
import { readCertificate, startSentry } from '../support/sentry/sentry.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'

const PAGE = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
/** Examples of the page that begin with the name of their file. */
const EXAMPLES = Object.fromEntries(
  [...PAGE.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```/gm)].map(([, file = '', text = '']) => [file, text]),
)
const [MATCHER = ''] = /^export const config = \{[\s\S]*?^\}/m.exec(PAGE) ?? []
const [, DSN = ''] = /dsn: '([^']+)'/.exec(EXAMPLES['instrumentation-client.ts'] ?? '') ?? []
/** Entry of `rewrites` in the recipe for development servers. */
const [, REWRITE = ''] =
  /return \[(.+)\]/.exec(readFileSync(join(ROOT, 'deploy/proxies/next.config.ts'), 'utf8')) ?? []

const NEXT = join(ROOT, 'node_modules/next/dist/bin/next')
const FOLDER = join(ROOT, '.culvert/own-next-app')

/** Page that reports the signal of this call, as code that catches every error does. */
const pageThatCatches = (call: string) => `
    import * as Sentry from '@sentry/nextjs'
    import { notFound, redirect } from 'next/navigation'
    export const dynamic = 'force-dynamic'
    export default function Page() {
      try {
        ${call}
      } catch (error) {
        Sentry.captureException(error)
      }
      return <h1>caught</h1>
    }`

/** Files of the app besides those of the page. */
const APP: Record<string, string> = {
  'package.json': '{ "name": "shop", "private": true }',
  'app/layout.tsx': `
    import * as Sentry from '@sentry/nextjs'
    export const dynamic = 'force-dynamic'
    export function generateMetadata() {
      return { title: 'A shop', icons: 'data:,', other: { ...Sentry.getTraceData() } }
    }
    export default function Layout({ children }: { children: React.ReactNode }) {
      return <html lang="en"><body>{children}</body></html>
    }`,
  'app/en/page.tsx': `
    'use client'
    import { useEffect, useState } from 'react'
    export default function Page() {
      const [state, setState] = useState('rendered')
      useEffect(() => setState('hydrated'), [])
      return <h1>{state}</h1>
    }`,
  'app/en/caught/page.tsx': pageThatCatches('notFound()'),
  'app/en/moved/page.tsx': pageThatCatches("redirect('/en')"),
  'app/en/shelf/route.ts': `
    export const dynamic = 'force-dynamic'
    export function GET() { throw new Error('The shelf is empty') }`,
  // A language for every path, as next-intl adds it.
  'proxy.ts': `
    import { type NextRequest, NextResponse } from 'next/server'
    export function proxy(request: NextRequest) {
      const { pathname } = request.nextUrl
      if (pathname.startsWith('/en')) return NextResponse.next()
      return NextResponse.redirect(new URL(pathname === '/' ? '/en' : '/en' + pathname, request.url))
    }
    ${MATCHER}`,
}

/** Writes the app. `tunnel` is the address to which the app rewrites the tunnel path itself. */
async function write(tunnel: string): Promise<void> {
  const config = `{
    skipTrailingSlashRedirect: true,
    turbopack: { root: ${JSON.stringify(ROOT)} },
    async rewrites() { return [${REWRITE.replace('127.0.0.1:9090', tunnel)}] },
  }`
  const files: Record<string, string> = {
    ...APP,
    ...Object.fromEntries(
      Object.entries(EXAMPLES).map(([file, text]) => [
        file,
        text.replace('dsn:', 'tracesSampleRate: 1, dsn:'),
      ]),
    ),
    'next.config.ts': String(EXAMPLES['next.config.ts'])
      .replace('= {}', `= ${config}`)
      .replace(', {})', ', { sourcemaps: { disable: true }, silent: true, telemetry: false })'),
  }
  await rm(FOLDER, { recursive: true, force: true })
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(FOLDER, file)), { recursive: true })
    await writeFile(join(FOLDER, file), text)
  }
}

/** Names of the segments in an envelope. */
function tracesIn({ items }: Received): string[] {
  return items.flatMap(({ header, payload }): string[] => {
    if (header.type !== 'span') return []
    const spans: { name: string; is_segment: boolean }[] = JSON.parse(String(payload)).items
    return spans.filter((span) => span.is_segment).map(({ name }) => name)
  })
}

async function build(): Promise<void> {
  await runStep('Building a Next.js app of somebody else', [NODE, NEXT, 'build'], {
    cwd: FOLDER,
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
  })
}

async function startApp(command: 'start' | 'dev', port: number, tunnelOrigin: string) {
  const program = startProgram('The app', NODE, [NEXT, command, FOLDER, '-p', String(port)], {
    TUNNEL_ORIGIN: tunnelOrigin,
    NODE_ENV: command === 'start' ? 'production' : 'development',
    NEXT_TELEMETRY_DISABLED: '1',
  })
  await program.line((line) => line.includes('Ready'), 60_000)
  return {
    async [Symbol.asyncDispose]() {
      process.kill(Number(program.pid), 'SIGTERM') // the server of `next dev` is a child, which would outlive SIGKILL
      await program.exited
    },
  }
}

async function startShop(command: 'start' | 'dev') {
  await using starting = new AsyncDisposableStack()
  const { host = '', publicKey = '' } = parseDsn(DSN) ?? {}
  const sentry = starting.use(await startSentry({ tls: readCertificate(), projects: { 2: publicKey } }))
  const reroute = { [`${host}:443`]: `127.0.0.1:${sentry.port}` }
  const appPort = await freePort()
  const env = { SENTRY_DSN: DSN, APP_URL: `http://127.0.0.1:${appPort}` }
  const tunnel = starting.use(await startTunnel({ env: { SENTRY_DSN: DSN }, reroute }))
  const tunnels = [`127.0.0.1:${tunnel.port}`]
  const nginx = starting.use(await startNginx({ tunnels, web: '127.0.0.1:9', env })) // no web
  await write(`127.0.0.1:${tunnel.port}`)
  if (command === 'start') await build()
  starting.use(await startApp(command, appPort, nginx.innerUrl))
  // Ends before the app: Next.js waits at its end for connections on which Chromium has not sent anything yet.
  const chromium = starting.use(await startChromium())
  const visitor = starting.use(await chromium.visitor())
  const { page } = visitor
  visitor.expectTrouble(/uncaught Error: The basket is empty/)
  visitor.expectTrouble(/500 \(Internal Server Error\)/)
  visitor.allowTrouble(/POST \S+\/monitoring\S* net::ERR_ABORTED/) // of a page that is left
  const started = starting.move()

  async function reported(message: string) {
    const received = await sentry.next(
      (request) => hasItem('event')(request) && String(request.decoded).includes(message),
      { timeout: 30_000 },
    )
    return eventOf(received)
  }

  return {
    ...{ appPort, nginx },
    /** Opens the app at `origin`, and expects that an error of the page is reported. */
    async reportsFrom(origin: string): Promise<void> {
      await page.goto(origin)
      expect(new URL(page.url()).pathname).toBe('/en')
      await page.getByRole('heading', { name: 'hydrated' }).waitFor()
      await page.evaluate(
        () =>
          void setTimeout(() => {
            throw new Error('The basket is empty')
          }),
      )
      expect(await reported('The basket is empty')).toMatchObject({ platform: 'javascript' })
    },
    /** Opens a route that throws, and expects that the error is reported. */
    async reportsFromServer(): Promise<void> {
      await page.evaluate(() => fetch('/en/shelf').then((response) => response.text()))
      expect(await reported('The shelf is empty')).toMatchObject({ platform: 'node' })
    },
    /** Opens a missing page and pages that report signals of Next.js, and expects that the tunnel filters their reports and no others. */
    async filtersNoise(): Promise<void> {
      visitor.allowTrouble(/404|ERR_ABORTED/)
      const noise = (type: string) =>
        tunnel.receipts
          .flatMap(({ items }) => items)
          .filter((item) => item.type === type && item.discard_reason === 'next-noise').length
      const events = sentry.requests.filter(hasItem('event')).length
      await page.goto(`${nginx.url}/en/nosuch`)
      await expect.poll(() => noise('span')).toBeGreaterThanOrEqual(2) // of the server and of the browser; spans that come later are also filtered
      await page.goto(`${nginx.url}/en/caught`)
      await expect.poll(() => noise('event')).toBe(1)
      await page.goto(`${nginx.url}/en/moved`)
      await expect.poll(() => noise('event')).toBe(2)

      await page.goto(`${nginx.url}/en`)
      const traces = () => sentry.requests.flatMap(tracesIn)
      await expect.poll(traces).toEqual(expect.arrayContaining(['GET /en', '/en', 'GET /en/caught']))
      expect(traces().filter((name) => /not-found|nosuch|404|Pageload/.test(name))).toEqual([])
      expect(sentry.requests.filter(hasItem('event'))).toHaveLength(events)
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

const SLOW = { ...requires('chromium', 'nginx'), timeout: 300_000 } // builds first

it(
  'A Next.js app with the files of docs/install.md reports errors of browser and server, and no noise',
  SLOW,
  async () => {
    await using shop = await startShop('start')
    const { nginx, appPort } = shop
    await shop.reportsFrom(nginx.url)
    await shop.reportsFromServer()
    await shop.filtersNoise()
    await shop.reportsFrom(`http://127.0.0.1:${appPort}`) // without nginx, the app rewrites the tunnel path
  },
)

it('Its development server hydrates the page at localhost, and reports errors', SLOW, async () => {
  await using shop = await startShop('dev')
  await shop.reportsFrom(`http://localhost:${shop.nginx.port}`)
  await shop.reportsFromServer()
})
