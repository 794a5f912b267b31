/** The snippet of README for a plain script, in an app behind nginx. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { parseDsn, tunnelUrl } from '../../contract/dsn.ts'
import { shareChromium } from '../support/browser/chromium.ts'
import { startNginx } from '../support/nginx/nginx.ts'
import { ROOT } from '../support/node.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'
import { readCertificate, startSentry } from '../support/sentry/sentry.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const [, LINES = ''] = /```js\n(\/\/ report\.js[\s\S]*?)```/.exec(README) ?? []
const [, DSN = ''] = /dsn: '([^']+)'/.exec(LINES) ?? []

/** Bundles the snippet as an app would. */
async function bundle(): Promise<string> {
  const source = 'virtual:app'
  const build = await rolldown({
    input: source,
    plugins: [
      {
        name: 'app',
        resolveId: (id) => (id === source ? join(ROOT, 'web/app.js') : undefined),
        load: (id) => (id === join(ROOT, 'web/app.js') ? LINES : undefined),
      },
    ],
  })
  const { output } = await build.generate({ format: 'iife' })
  return output[0].code
}

describe('An app with the script of README', requires('chromium', 'nginx'), () => {
  it('reports to its Sentry through the site', async () => {
    const script = await bundle()
    await using app = await startUpstream('app', ({ url }, response) => {
      response.setHeader('content-type', url === '/app.js' ? 'text/javascript' : 'text/html')
      response.end(
        url === '/app.js' ? script : '<link rel="icon" href="data:,"><script src="/app.js"></script>',
      )
    })
    const { host = '', publicKey = '' } = parseDsn(DSN) ?? {}
    await using sentry = await startSentry({ tls: readCertificate(), projects: { 2: publicKey } })
    const reroute = { [`${host}:443`]: `127.0.0.1:${sentry.port}` }
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: DSN }, reroute })
    await using nginx = await startNginx({
      tunnels: [`127.0.0.1:${tunnel.port}`],
      web: '127.0.0.1:1',
      env: { APP_URL: `http://${app.address}` },
    })
    const chromium = await shareChromium()
    await using visitor = await chromium.visitor()
    visitor.expectTrouble(/uncaught Error: The basket is empty/)

    await visitor.page.goto(nginx.url)
    await visitor.page.evaluate(
      () =>
        void setTimeout(() => {
          throw new Error('The basket is empty')
        }),
    )
    const { items } = await sentry.next(hasItem('event'))
    expect(JSON.parse(String(items[0]?.payload)).exception.values[0].value).toBe('The basket is empty')
  })
})

it('README.md and the docs/install.md show the tunnel URL that belongs to their DSN', () => {
  const dsn = parseDsn(DSN)
  const url = dsn && tunnelUrl('/monitoring', dsn)
  expect(LINES).toContain(`tunnel: '${url}'`)
  expect(readFileSync(join(ROOT, 'docs/install.md'), 'utf8')).toContain(
    `tunnel: TUNNEL_ORIGIN && \`\${TUNNEL_ORIGIN}${url}\``,
  )
})
