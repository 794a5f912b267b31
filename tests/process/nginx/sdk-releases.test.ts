/** Bundles of the SDK through nginx while a deployment replaces the tunnels of one spool. */

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startNginx } from '../../support/nginx/nginx.ts'
import { requires } from '../../support/requirements.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'
import { writeSdk } from '../../support/tunnel/sdk.ts'

describe('nginx in front of a new release of the tunnel', requires('nginx'), () => {
  it('serves the bundles that the loader of the old release names, after its last replica has stopped', async () => {
    await using started = new AsyncDisposableStack()
    const folder = started.use(await makeFolder())
    const sentry = started.use(await startSentry())
    const openRelease = async (release: string) => {
      const sdkFolder = join(folder.path, release)
      await writeSdk(sdkFolder, release)
      const SPOOL_URL = pathToFileURL(join(folder.path, 'spool.db')).href
      return openTunnel({ env: { SPOOL_URL, SENTRY_DSN: sentry.dsn() }, sdkFolder })
    }
    const old = await openRelease('old')
    const loader = await (await fetch(`${old.url}/monitoring/sdk.js`)).text()
    const replica = started.use(await openRelease('new'))
    await old[Symbol.asyncDispose]()
    const nginx = started.use(await startNginx({ tunnels: [new URL(replica.url).host], web: '127.0.0.1:1' }))
    const get = async (path: string) => {
      const response = await fetch(`${nginx.url}/monitoring/${path}`)
      return { response, text: await response.text() }
    }

    expect((await get('sdk.js')).text).not.toBe(loader)
    const references = [...loader.matchAll(/\["((errors|tracing)-\w{16}\.js)","(sha384-[^"]+)"\]/g)]
    expect(references).toHaveLength(2)
    for (const [, file, name, integrity] of references) {
      const { response, text } = await get(`sdk/${file}`)
      expect(response.status).toBe(200)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(text).toBe(`old ${name}`)
      expect(`sha384-${createHash('sha384').update(text).digest('base64')}`).toBe(integrity)
    }
    for (const file of ['errors.js', 'errors-0000000000000000.js'])
      expect((await get(`sdk/${file}`)).response.status).toBe(404)
  })
})
