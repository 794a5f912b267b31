/** The snippet of README for React with Vite, on Vite's development server behind nginx (APP_URL). */

import { readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { parseDsn } from '../../contract/dsn.ts'
import { freePort } from '../../scripts/start/free-port.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { NODE, ROOT } from '../support/node.ts'
import { startProgram } from '../support/program.ts'
import { requires } from '../support/requirements.ts'
import { eventOf, hasItem } from '../support/sentry/received-request.ts'
import { readCertificate } from '../support/sentry/sentry.ts'
import { startSite } from '../support/site.ts'

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const [, INSTRUMENT = ''] = /```ts\n(\/\/ src\/instrument\.ts[\s\S]*?)```/.exec(README) ?? []
const [, DSN = ''] = /dsn: '([^']+)'/.exec(INSTRUMENT) ?? []

const { host = '', publicKey = '' } = parseDsn(DSN) ?? {}
const it = base.extend('sentryOptions', perFile, () => ({
  tls: readCertificate(),
  projects: { 2: publicKey },
}))

const FOLDER = join(ROOT, '.culvert/own-vite-app')

const MAIN = join(FOLDER, 'src/main.tsx')

async function writeApp(): Promise<void> {
  const files = {
    'index.html':
      '<link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/src/main.tsx"></script>',
    'src/instrument.ts': INSTRUMENT,
    'src/main.tsx': `
      import './instrument'
      import { createElement } from 'react'
      import { createRoot } from 'react-dom/client'
      const onClick = () => { throw new Error('The basket is empty') }
      createRoot(document.getElementById('root')!).render(createElement('button', { onClick }, 'Buy'))`,
  }
  await rm(FOLDER, { recursive: true, force: true })
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(FOLDER, file)), { recursive: true })
    await writeFile(join(FOLDER, file), text)
  }
}

async function startVite(port: number) {
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  const flags = ['--host', '127.0.0.1', '--port', String(port), '--strictPort']
  const program = startProgram('Vite', NODE, [vite, FOLDER, ...flags], {})
  await program.line((line) => line.includes('ready in'), 60_000)
  return { [Symbol.asyncDispose]: program.kill }
}

it(
  'a Vite app behind nginx reports an error, is updated over a WebSocket, and leaves the console to web',
  requires('chromium', 'nginx'),
  async ({ sentry, chromium }) => {
    const port = await freePort()
    const env = {
      SENTRY_DSN: DSN,
      APP_URL: `http://127.0.0.1:${port}`,
      OPERATOR_PASSWORD: 'password of the tests',
      LAB: 'on',
    }
    await using site = await startSite({ env, reroute: { [`${host}:443`]: `127.0.0.1:${sentry.port}` } })
    const url = `http://127.0.0.1:${site.port}`
    await writeApp()
    await using _vite = await startVite(port)
    await using visitor = await chromium.visitor() // leaves before the servers stop: a page reports its session at its end
    visitor.expectTrouble(/uncaught Error: The basket is empty/)
    visitor.expectTrouble(/ERR_NAME_NOT_RESOLVED/) // the connection check tries Sentry directly
    visitor.allowTrouble(/POST \S+\/monitoring\S* net::ERR_ABORTED/) // of a page that is left
    visitor.allowTrouble(/receipt\.json/) // the connection check asks for a receipt once, and is left
    const { page } = visitor

    const connected = page.waitForEvent('console', (message) => message.text() === '[vite] connected.')
    await page.goto(url)
    await page.getByRole('button', { name: 'Buy' }).click()
    expect(eventOf(await sentry.next(hasItem('event')))).toMatchObject({
      exception: { values: [{ value: 'The basket is empty' }] },
    })
    await connected
    await writeFile(MAIN, (await readFile(MAIN, 'utf8')).replace("'Buy'", "'Order'"))
    await page.getByRole('button', { name: 'Order' }).waitFor()

    await page.goto(`${url}/console/check`)
    await page.getByRole('heading', { name: 'Checking what' }).waitFor({ state: 'detached' })
    expect(await page.getByRole('link', { name: 'Connection check' }).getAttribute('href')).toBe(
      '/console/check',
    )
    await page.goto(`${url}/console`)
    await page.getByLabel('Password').waitFor()
    await page.goto(`${url}/lab`)
    await page.getByRole('heading', { name: 'Error lab' }).waitFor()
  },
)
