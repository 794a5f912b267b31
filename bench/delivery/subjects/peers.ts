/** Installs and builds the page with each SDK, and the alternatives to Culvert, in a folder of their own. */

import { createHash } from 'node:crypto'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { runStep } from '../../../scripts/progress.mjs'
import { NODE, ROOT } from '../../../tests/support/node.ts'
import { type App, startNext } from './app.ts'
import { bundlePage, type PageKind } from './pages.ts'

const PEERS = join(import.meta.dirname, '../peers')
const NEXT = join(ROOT, 'node_modules/next/dist/bin/next') // the version of the product
const STAMP = join(PEERS, '.next/made-of')
const SOURCES = [
  'package-lock.json',
  'next.config.js',
  'instrumentation-client.js',
  'in-page.ts',
  'report-id.ts',
  'app/layout.js',
  'app/page.js',
]
const BUILDS = { plain: 'off', rewritten: 'on' } as const

type Build = keyof typeof BUILDS

const PAGES: PageKind[] = [
  { sdk: '@sentry/nextjs 11.1.0', path: '/', madeByNext: true },
  { sdk: '@sentry/browser 10.78.0', path: '/browser-10.html', madeByNext: false },
  { sdk: '@sentry/browser 8.55.2', path: '/browser-8.html', madeByNext: false },
]

/** Builds a Next.js app with a page for each SDK, with and without Sentry's rewrite. */
export async function buildPeers(): Promise<App> {
  const hash = await hashSources()
  if ((await readFile(STAMP, 'utf8').catch(() => '')) !== hash) {
    await build()
    await writeFile(STAMP, hash)
  }
  return {
    pages: PAGES,
    start: (options) => startNext(serverOf('plain'), options),
    startRewritten: (options) => startNext(serverOf('rewritten'), options),
  }
}

async function build(): Promise<void> {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
  await runStep('Installing what Culvert is compared with (npm ci)', ['npm', 'ci', '--loglevel=error'], {
    cwd: PEERS,
  })
  for (const version of [8, 10])
    await bundlePage(join(PEERS, 'public'), `browser-${version}`, `sentry-browser-${version}`, PEERS)
  for (const name of Object.keys(BUILDS) as Build[]) {
    await runStep(`Building the page (${name})`, [NODE, NEXT, 'build'], {
      cwd: PEERS,
      env: { ...env, REWRITE: BUILDS[name] },
    })
    const server = dirname(serverOf(name))
    await cp(join(PEERS, '.next', name, 'static'), join(server, '.next', name, 'static'), { recursive: true })
    await cp(join(PEERS, 'public'), join(server, 'public'), { recursive: true })
  }
}

function serverOf(name: Build): string {
  return join(PEERS, '.next', name, 'standalone', relative(ROOT, PEERS), 'server.js')
}

async function hashSources(): Promise<string> {
  const hash = createHash('sha256').update(process.version)
  for (const file of [...SOURCES.map((source) => join(PEERS, source)), join(import.meta.dirname, 'pages.ts')])
    hash.update(await readFile(file))
  return hash.digest('hex')
}
