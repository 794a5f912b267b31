/** Builds the page as plain files with the SDK of the project, without installing packages. */

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { App, AppOptions } from './app.ts'
import { bundlePage } from './pages.ts'
import type { Running } from './replica.ts'

const NAME = 'index'

/** Builds the page in `folder`, which must exist as long as the page is served. */
export async function bundleApp(folder: string): Promise<App> {
  await bundlePage(folder, NAME, '@sentry/browser', import.meta.dirname)
  return {
    pages: [{ sdk: '@sentry/browser', path: '/', madeByNext: false }],
    start: (options) => serve(folder, options),
  }
}

async function serve(folder: string, { port }: AppOptions): Promise<Running> {
  const files = new Map([
    ['/', { type: 'text/html', bytes: await readFile(join(folder, `${NAME}.html`)) }],
    [`/${NAME}.js`, { type: 'text/javascript', bytes: await readFile(join(folder, `${NAME}.js`)) }],
  ])
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '')
    response.writeHead(file ? 200 : 404, { 'content-type': file?.type ?? 'text/plain' }).end(file?.bytes)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = async (): Promise<void> => {
    server.close()
    server.closeAllConnections()
  }
  return { kill: stop, stop }
}
