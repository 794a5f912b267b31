/** Source maps: uploaded to Sentry in a build with a token, and not served to browsers. */

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Clone, makeClone } from '../support/clone.ts'
import { runCommand } from '../support/command.ts'
import { type Asked, startUpstream, type Upstream } from '../support/recording-server.ts'

const TOKEN = 'sntrys_token-of-the-tests'
const ORGANISATION = '/api/0/organizations/shop'

describe('A build with SENTRY_AUTH_TOKEN', { timeout: 400_000 }, () => {
  const started = new AsyncDisposableStack()
  let clone: Clone
  let sentry: Upstream

  beforeAll(async () => {
    sentry = started.use(await startUpstream('sentry', answerAsSentry))
    clone = started.adopt(makeClone(), ({ remove }) => remove())
    const env = {
      HOME: clone.path, // Sentry's tool caches the URL of an organisation there
      SENTRY_AUTH_TOKEN: TOKEN,
      SENTRY_ORG: 'shop',
      SENTRY_PROJECT: 'web',
      SENTRY_RELEASE: 'shop@1.2.3',
      SENTRY_URL: `http://${sentry.address}`,
    }
    const build = runCommand(clone.path, ['npm', 'run', 'build', '--workspace', 'web'], env)
    if ((await build.exited) !== 0) throw new Error(build.output())
  })

  afterAll(() => started.disposeAsync())

  it('creates the release and uploads its source maps', () => {
    const asked = (path: string) => sentry.asked.filter(({ url }) => url.startsWith(ORGANISATION + path))
    expect(JSON.parse(String(asked('/releases/')[0]?.body))).toMatchObject({
      version: 'shop@1.2.3',
      projects: ['web'],
    })
    const [bundle] = asked('/artifactbundle/assemble/')
    expect(JSON.parse(String(bundle?.body))).toMatchObject({ version: 'shop@1.2.3', projects: ['web'] })
    const uploaded = asked('/chunk-upload/').filter(({ method }) => method === 'POST')
    expect(Math.max(...uploaded.map(({ body }) => body.length))).toBeGreaterThan(100_000)
  })

  it('leaves no source map for browsers, and no token in any file', () => {
    const built = join(clone.path, 'web/.next/standalone')
    const files = readdirSync(built, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
    const forBrowsers = files.filter((file) => file.includes('/.next/static/'))
    expect(forBrowsers.length).toBeGreaterThan(5)
    expect(forBrowsers.filter((file) => file.endsWith('.map'))).toEqual([])
    expect(forBrowsers.filter((file) => readFileSync(file, 'utf8').includes('sourceMappingURL='))).toEqual([])
    expect(spawnSync('grep', ['-rl', TOKEN, built], { encoding: 'utf8' }).stdout).toBe('')
  })
})

/** Responds as Sentry's API does when it has none of the chunks yet. */
function answerAsSentry({ method, url, body, headers }: Asked, response: ServerResponse): void {
  response.setHeader('content-type', 'application/json')
  if (url.endsWith('/chunk-upload/') && method === 'GET')
    return void response.end(JSON.stringify(uploadOptions(`http://${headers.host}`)))
  if (url.endsWith('/assemble/')) return void response.end(JSON.stringify(assemble(String(body))))
  response.end('{}')
}

const assembled = new Set<string>()

function assemble(body: string) {
  const { checksum, chunks } = JSON.parse(body)
  const known = assembled.has(checksum)
  assembled.add(checksum)
  return known ? { state: 'ok', missingChunks: [] } : { state: 'not_found', missingChunks: chunks }
}

function uploadOptions(address: string) {
  return {
    url: `${address}${ORGANISATION}/chunk-upload/`,
    chunkSize: 8 * 1024 * 1024,
    chunksPerRequest: 64,
    maxFileSize: 2 ** 31,
    maxRequestSize: 32 * 1024 * 1024,
    concurrency: 1,
    hashAlgorithm: 'sha1',
    compression: ['gzip'],
    accept: ['release_files', 'sources', 'artifact_bundles', 'artifact_bundles_v2'],
  }
}
