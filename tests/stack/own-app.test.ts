/** Operator's own image in place of web, with the file of `docs/operations.md`. */

import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../tunnel/src/envelope/dsn.ts'
import { startCompose } from '../support/docker/compose.ts'
import { connecting } from '../support/docker/external-network.ts'
import { ROOT } from '../support/node.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { capture } from '../support/sdk-captures.ts'
import { makeFolder } from '../support/temporary-folder.ts'

const PAGE = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const [, OVERRIDE = ''] = /```yaml\n(# docker-compose\.override\.yml\n[\s\S]*?)```/.exec(PAGE) ?? []

// Variables that the image of an app may set.
const APP = `
    command:
      - node
      - -e
      - |
        http.createServer((_, response) => response.end('my own ' + process.env.TUNNEL_ORIGIN)).listen(3000)`

describe('A deployment with an image of its own as web', requires('docker'), () => {
  it('serves its pages, has its envelopes forwarded, and keeps it from reaching a tunnel directly', async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'override.yml')
    const image = process.env.NODE_IMAGE || 'node:24-slim'
    await writeFile(file, OVERRIDE.replace(/shop:1\.2\.3[^\n]*/, image + APP))
    const env = { COMPOSE_FILE: `${join(ROOT, 'docker-compose.yml')}:${file}` }
    await using stack = await startCompose({ env })

    const page = await post(stack.url, { path: '/basket', method: 'GET' })
    expect([page.status, page.text]).toEqual([200, 'my own http://nginx:8081'])
    const { body, dsn = '' } = capture('browser-11.12.0-error-unhandled')
    const sent = Buffer.from(body.toString('latin1').replaceAll(dsn, INBOX_DSN), 'latin1')
    expect((await post(stack.url, { path: '/monitoring?p=1', body: sent })).status).toBe(200)
    const inside = `fetch(process.env.TUNNEL_ORIGIN + '/monitoring?p=1', { method: 'POST', body: '{}' }).then((r) => console.log(r.status))`
    expect(await stack.script(inside)).toBe('200')
    const networks = ['ingest', 'out', 'admin']
    for (const tunnel of await stack.containers('tunnel')) {
      const reached = networks.map(async (network) =>
        stack.script(connecting(await stack.address(tunnel, network), 9090)),
      )
      expect(await Promise.all(reached)).not.toContain('connected')
    }
  })
})
