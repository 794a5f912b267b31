/** Operator's own app as a service of Compose (APP_URL), with the file of `docs/operations.md`. */

import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../contract/dsn.ts'
import { freePort } from '../../scripts/start/free-port.ts'
import { startCompose } from '../support/docker/compose.ts'
import { connecting } from '../support/docker/external-network.ts'
import { ROOT } from '../support/node.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { capture } from '../support/sdk-captures.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const PAGE = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const [, OVERRIDE = ''] = /```yaml\n(# docker-compose\.override\.yml\n[\s\S]*?)```/.exec(PAGE) ?? []

const APP = `
    command:
      - node
      - -e
      - |
        http.createServer((_, response) => response.end('my own ' + Object.keys(process.env))).listen(3000)`

describe('With an app as a service of its own', requires('docker'), () => {
  it('nginx serves its pages beside those of web, and it reaches nginx, but neither web nor a tunnel', async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'override.yml')
    const image = process.env.NODE_IMAGE || 'node:24-slim'
    await writeFile(file, OVERRIDE.replace(/shop:1\.2\.3[^\n]*/, image + APP))
    const port = await freePort()
    const ports = join(folder.path, 'ports.yml')
    await writeFile(ports, `services: { nginx: { ports: ["127.0.0.1:${port}:8081"] } }\n`)
    const COMPOSE_FILE = [join(ROOT, 'docker-compose.yml'), file, ports].join(':')
    const env = { COMPOSE_FILE, APP_URL: 'http://shop:3000' }
    await using stack = await startCompose({ env })
    const run = (code: string) => stack.compose('exec', '-T', 'shop', 'node', '-e', code)
    const get = (path: string) => post(stack.url, { path, method: 'GET' })

    const page = await get('/basket')
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('my own ')])
    expect(page.text).not.toMatch(/PASSWORD|SENTRY|ADMIN/)
    expect((await get('/console/sign-in')).text).toContain('Operator password')
    expect((await get('/console/check')).text).toContain('Connection check')

    const { body, dsn = '' } = capture('browser-11.12.0-error-unhandled')
    const sent = Buffer.from(body.toString('latin1').replaceAll(dsn, INBOX_DSN), 'latin1')
    expect((await post(stack.url, { path: '/monitoring?p=1', body: sent })).status).toBe(200)
    const inside = `fetch(process.env.TUNNEL_ORIGIN + '/monitoring?p=1', { method: 'POST', body: '{}' }).then((r) => console.log(r.status))`
    expect(await run(inside)).toBe('200')
    const onThisMachine = `http://127.0.0.1:${port}`
    expect((await post(onThisMachine, { path: '/monitoring?p=1', body: '{}' })).status).toBe(200)

    const [web = ''] = await stack.containers('web')
    const [tunnel = ''] = await stack.containers('tunnel')
    const connectTo = async (container: string, network: string, port: number) =>
      run(connecting(await stack.address(container, network), port))
    const attempts = [
      connectTo(web, 'front', 3000),
      ...['ingest', 'out', 'admin'].map((network) => connectTo(tunnel, network, 9090)),
    ]
    expect(await Promise.all(attempts)).not.toContain('connected')

    await stack.compose('kill', 'shop') // it handles no signal: Compose would wait 10 s for its end
    await stack.compose('restart', 'nginx')
    await until(async () => (await get('/console/sign-in').catch(() => undefined))?.status === 200)
    expect((await get('/basket')).status).toBe(502)
  })
})
