/** Servers of the pages and of Sentry's CDN. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { readCertificate } from '../../../tests/support/sentry/sentry.ts'
import type { Recorder } from '../recorder.ts'
import { PROJECTS, type SubjectName } from '../subjects/subjects.ts'

const SOURCES = join(import.meta.dirname, 'page')
const LOADER_HOST = 'js.sentry-cdn.com'
const BUNDLE_HOST = 'browser.sentry-cdn.com'
const BUNDLE_PATH = '/11.1.0/bundle.min.js'
const LOADER_PATH = '/loader.min.js'

/** Names of hosts that Chromium must find at the CDN. */
export const CDN_HOSTS = [LOADER_HOST, BUNDLE_HOST]

type Files = Readonly<Record<string, { type: string; text: string }>>

/** Bundles a script as for a script element. Its exports become properties of `window.Sentry`. */
async function bundle(file: string): Promise<string> {
  const build = await rolldown({ input: join(SOURCES, file), platform: 'browser' })
  const { output } = await build.generate({ format: 'iife', name: 'Sentry', extend: true, minify: true })
  await build.close()
  return output[0].code
}

/** Starts Sentry's CDN, with the Loader Script of the subject's project. `await using` stops it. */
export async function startCdn(recorder: Recorder) {
  const loader = (await bundle('loader-script.js'))
    .replace('CDN_BUNDLE_URL', `https://${BUNDLE_HOST}${BUNDLE_PATH}`)
    .replace('CDN_DSN', recorder.dsn(PROJECTS.loaderScript))
  const files = {
    [LOADER_PATH]: { type: 'text/javascript', text: loader },
    [BUNDLE_PATH]: { type: 'text/javascript', text: await bundle('cdn-bundle.ts') },
  }
  return await serve(createTlsServer(readCertificate()), files)
}

/** Starts the server of the pages, one for each subject. `await using` stops it. */
export async function startPages(recorder: Recorder, names: readonly SubjectName[]) {
  const pages = names.map((name) => [`/${name}.html`, { type: 'text/html', text: pageOf(name, recorder) }])
  const files: Files = {
    ...Object.fromEntries(pages),
    '/': { type: 'text/html', text: '<!doctype html><title>A shop</title>' },
    '/first.js': { type: 'text/javascript', text: readFileSync(join(SOURCES, 'first.js'), 'utf8') },
    '/npm.js': { type: 'text/javascript', text: await bundle('npm.js') },
  }
  return await serve(createServer(), files)
}

/** Returns the page of a subject, which has the SDK where the documentation of the subject puts it. */
function pageOf(name: SubjectName, { org, dsn }: Recorder): string {
  const first = '<script src="/first.js"></script>'
  const tunnel =
    name === 'tunnelRoute' ? `/monitoring?o=${org}&amp;p=${PROJECTS[name]}&amp;r=us` : '/monitoring'
  const bundled = `${first}<script src="/npm.js" data-dsn="${dsn(PROJECTS[name])}" data-tunnel="${tunnel}"></script>`
  const scripts: Partial<Record<SubjectName, string>> = {
    culvert: `<script src="/monitoring/sdk.js" crossorigin></script>${first}`,
    loaderScript: `<script src="https://${LOADER_HOST}${LOADER_PATH}" crossorigin="anonymous" data-lazy="no"></script>${first}`,
  }
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>A shop</title>${scripts[name] ?? bundled}<h1>A shop</h1></html>`
}

async function serve(server: Server, files: Files) {
  server.on('request', ({ url = '' }, response) => {
    const file = files[url.replace(/\?.*$/, '')]
    const headers = { 'content-type': file?.type ?? 'text/plain', 'access-control-allow-origin': '*' }
    response.writeHead(file ? 200 : 404, headers).end(file?.text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
