/** The snippets of README for React with Vite, on Vite's development server. */

import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import { parseDsn } from '../../tunnel/src/envelope/dsn.ts'
import { it } from '../support/browser/fixtures.ts'
import { startNginx } from '../support/nginx/nginx.ts'
import { NODE, ROOT } from '../support/node.ts'
import { freePort } from '../support/ports.ts'
import { startProgram } from '../support/program.ts'
import { requires } from '../support/requirements.ts'
import { eventOf, hasItem } from '../support/sentry/received-request.ts'
import { readCertificate } from '../support/sentry/sentry.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const [, INSTRUMENT = ''] = /```ts\n(\/\/ src\/instrument\.ts[\s\S]*?)```/.exec(README) ?? []
const [, PROXY = ''] = /```ts\n(server: \{ proxy: .*)\n```/.exec(README) ?? []
const [, DSN = ''] = /dsn: '([^']+)'/.exec(INSTRUMENT) ?? []

const { host = '', publicKey = '' } = parseDsn(DSN) ?? {}
it.override('sentryOptions', () => ({ tls: readCertificate(), projects: { 2: publicKey } }))

const FOLDER = join(ROOT, '.culvert/own-vite-app')

async function writeApp(culvert: string): Promise<void> {
  const files = {
    'index.html':
      '<link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/src/main.tsx"></script>',
    'vite.config.ts': `
      import { defineConfig } from 'vite'
      export default defineConfig({
        ${PROXY.replace('http://127.0.0.1:8080', culvert)}
      })`,
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

describe('A React app on Vite with the snippets of README.md', requires('chromium', 'nginx'), () => {
  it('reports an error through Culvert', async ({ sentry, chromium }) => {
    const reroute = { [`${host}:443`]: `127.0.0.1:${sentry.port}` }
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: DSN }, reroute })
    await using nginx = await startNginx({ tunnels: [`127.0.0.1:${tunnel.port}`], web: '127.0.0.1:1' })
    await writeApp(nginx.url)
    const port = await freePort()
    await using _vite = await startVite(port)
    await using visitor = await chromium.visitor() // the visitor leaves before the servers stop: a page sends its session at its end
    visitor.expectTrouble(/uncaught Error: The basket is empty/)

    await visitor.page.goto(`http://127.0.0.1:${port}`)
    await visitor.page.getByRole('button', { name: 'Buy' }).click()
    expect(eventOf(await sentry.next(hasItem('event')))).toMatchObject({
      exception: { values: [{ value: 'The basket is empty' }] },
    })
  })
})
