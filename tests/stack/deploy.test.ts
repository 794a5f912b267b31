/** Scaling, killed containers and deploys under traffic: no request fails, and no acknowledged envelope is lost. */

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { deriveAdminToken } from '../../contract/admin-token.ts'
import { freePort } from '../../scripts/start/free-port.ts'
import { BRIDGE, type Compose, PASSWORD, startCompose } from '../support/docker/compose.ts'
import { startTraffic, type Traffic } from '../support/docker/traffic.ts'
import { errorOf } from '../support/envelopes.ts'
import { NODE, ROOT } from '../support/node.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const SHARE_WITHIN = 10_000 // ms
const DELIVERED_WITHIN = 60_000 // ms
/** Requests before, during and after a change. */
const [BEFORE, DURING, AFTER] = [20, 100, 50]
const SCALE = ['up', '--detach', '--no-deps', '--no-recreate', '--wait']
const REVISION = '{{index .Config.Labels "org.opencontainers.image.revision"}}'

describe('No request of a visitor fails', { ...requires('docker'), timeout: 300_000 }, () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let stack: Compose
  let traffic: Traffic
  let second: string

  // Its secrets are in files, and in no variable.
  beforeAll(async () => {
    const folder = started.use(await makeFolder())
    const secret = (name: string, text: string) => {
      const file = join(folder.path, name)
      writeFileSync(file, `${text}\n`, { mode: 0o644 })
      return file
    }
    sentry = started.use(await startSentry({ host: BRIDGE }))
    sentry.allowAborts() // tunnels are killed
    const port = String(await freePort())
    second = `http://127.0.0.1:${port}`
    const health = join(folder.path, 'nginx-2.yml')
    writeFileSync(
      health,
      `services: { nginx-2: { ports: !override ["127.0.0.1:${port}:8080"], healthcheck: { interval: 1s, start_period: 60s } } }`,
    )
    const env = {
      COMPOSE_FILE: `docker-compose.yml:deploy/two-nginx.yml:${health}`,
      SENTRY_DSN_FILE: secret('dsn', sentry.dsn()),
      OPERATOR_PASSWORD: '',
      OPERATOR_PASSWORD_FILE: secret('password', PASSWORD),
    }
    stack = started.use(await startCompose({ env }))
  })

  afterAll(() => started.disposeAsync())

  beforeEach(async () => {
    traffic = startTraffic([stack.url], sentry.dsn())
    await traffic.more(BEFORE)
  })

  afterEach(async () => {
    await traffic.more(AFTER)
    expect(await traffic.end()).toEqual([])
    await until(async () => traffic.acknowledged.every(arrivedAt(sentry)), DELIVERED_WITHIN)
  })

  it('when tunnels are added, which get their share within 10 s, and removed', async () => {
    await stack.compose(...SCALE, '--scale', 'tunnel=4', 'tunnel')
    await until(async () => (await answeredBy(stack)).filter((count) => count > 0).length === 4, SHARE_WITHIN)
    expect(new Set(await replicasOf(stack)).size).toBe(4)
    await traffic.more(DURING)
    await stack.compose(...SCALE, '--scale', 'tunnel=3', 'tunnel')
    await traffic.more(DURING)
  })

  it('when all tunnels except one are killed', async () => {
    const [, ...victims] = await stack.containers('tunnel')
    for (const victim of victims) {
      await stack.docker('kill', victim) // one by one: nginx sends a request to at most two replicas, and answers 502 when both die
      await traffic.more(DURING)
    }
  })

  it('when one of two webs is killed', async () => {
    await stack.compose(...SCALE, '--scale', 'tunnel=2', '--scale', 'web=2', 'tunnel', 'web')
    await until(async () => (await upstreamsOf(stack, 3000)).size === 2)
    const [, victim = ''] = await stack.containers('web')
    traffic.allowCut()
    await stack.docker('kill', victim)
    await traffic.more(2 * DURING)
    await stack.docker('rm', victim)
  })

  it('when nginx reloads its configuration', async () => {
    for (let i = 0; i < 2; i++) {
      await stack.compose('kill', '--signal', 'HUP', 'nginx')
      await traffic.more(DURING)
    }
  })

  it('when two nginx behind a load balancer are replaced one after the other', async () => {
    await traffic.end()
    traffic = startTraffic([stack.url, second], sentry.dsn())
    for (const service of ['nginx', 'nginx-2']) {
      await traffic.more(BEFORE)
      await stack.compose('up', '--detach', '--no-deps', '--force-recreate', '--wait', service)
    }
  })

  it('when npm run deploy replaces web and the tunnels, and applies another path to both nginx', async () => {
    const [before, nginx] = [await serving(stack), await stack.containers('nginx')]
    Object.assign(stack.env, { REVISION: 'the-next-one', TUNNEL_PATHS: '/r7k2|/monitoring' })
    await deploy(stack, {})
    for (const url of [stack.url, second])
      expect((await post(url, { path: '/r7k2', body: errorOf(sentry.dsn()) })).status).toBe(200)
    expect(await stack.containers('nginx')).toEqual(nginx)
    const after = await serving(stack)
    expect(after).toHaveLength(before.length)
    expect(before.filter((id) => after.includes(id))).toEqual([])
    expect(await revisionsOf(stack, after)).toEqual(['the-next-one'])
    expect(await latestOf(stack)).toEqual(await imagesOf(stack, after))
  })

  it('when npm run deploy lacks a setting of the running containers, which it rejects before it builds', async () => {
    const before = await serving(stack)
    const failed = await deploy(stack, { SENTRY_DSN_FILE: undefined }).catch((error) => error)
    expect(failed.stderr).toContain('the running containers have settings that are missing here: SENTRY_DSN.')
    expect(failed.stdout).not.toContain('Building')
    expect(await serving(stack)).toEqual(before)
  })

  it('when npm run deploy brings an image that does not start: it keeps the old containers and prints the reason', async () => {
    const before = await serving(stack)
    const nowhere = { SPOOL_URL: 'file:///nowhere/spool.db', REVISION: 'broken' } // a path that exists in a container only
    const failed = await deploy(stack, nowhere).catch((error) => error)
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('SPOOL_URL: the spool cannot be opened;')
    expect(failed.stderr).toContain('culvert: nothing was replaced, the old containers still run:')
    expect(await serving(stack)).toEqual(before)
    expect(await latestOf(stack)).toEqual(await imagesOf(stack, before))
  })

  it('when npm run deploy names a spool that does not accept envelopes: it keeps the old containers', async () => {
    const before = await serving(stack)
    const failed = await deploy(stack, { SPOOL_URL: 'nats://nowhere:4222' }).catch((error) => error)
    expect(failed.stderr).toContain('the spool at SPOOL_URL does not accept envelopes')
    expect(await serving(stack)).toEqual(before)
  })
})

function deploy({ env }: Compose, settings: NodeJS.ProcessEnv, ...flags: string[]) {
  return script('scripts/deploy.ts', { ...env, ...settings }, ...flags)
}

function script(file: string, env: NodeJS.ProcessEnv, ...args: string[]) {
  const options = { cwd: ROOT, env, timeout: 280_000, killSignal: 'SIGKILL' } as const
  return promisify(execFile)(NODE, [file, ...args], options)
}

/** Returns the different revisions of the containers' images. */
async function revisionsOf(stack: Compose, containers: string[]): Promise<string[]> {
  const lines = await stack.docker('inspect', '--format', `[${REVISION}]`, ...containers)
  return [...new Set(lines.split('\n'))].map((line) => line.slice(1, -1))
}

/** Returns the image IDs of the containers, each once. */
async function imagesOf(stack: Compose, containers: string[]): Promise<string[]> {
  const lines = await stack.docker('inspect', '--format', '{{.Image}}', ...containers)
  return [...new Set(lines.split('\n'))].toSorted()
}

/** Returns the IDs of the images that Compose starts. */
async function latestOf(stack: Compose): Promise<string[]> {
  const names = ['tunnel', 'web'].map((service) => `${stack.project}-${service}:latest`)
  const lines = await stack.docker('image', 'inspect', '--format', '{{.Id}}', ...names)
  return lines.split('\n').toSorted()
}

async function serving(stack: Compose): Promise<string[]> {
  return [...(await stack.containers('tunnel')), ...(await stack.containers('web'))].toSorted()
}

function arrivedAt(sentry: Sentry): (id: string) => boolean {
  const ids = new Set(sentry.requests.map(({ header }) => header.event_id))
  return (id) => ids.has(id)
}

/** Returns the addresses with that port that nginx has connected to in the last seconds. */
async function upstreamsOf(stack: Compose, port: number): Promise<Set<string>> {
  const lines = await stack.compose('logs', '--no-color', '--no-log-prefix', '--since', '5s', 'nginx')
  const asked = [...lines.matchAll(/"upstream":"([^"]*)"/g)].flatMap(([, all = '']) => all.split(' : '))
  return new Set(asked.filter((address) => address.endsWith(`:${port}`)))
}

/** Returns the number of envelopes that each tunnel has answered. */
async function answeredBy(stack: Compose): Promise<number[]> {
  const figures = await askEach(stack, '/metrics')
  return figures.map((text) => {
    const counts = [...text.matchAll(/^culvert_envelopes_total\{.*\} (\d+)$/gm)].map(([, count]) =>
      Number(count),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  })
}

/** Returns the replica names of the tunnels. */
async function replicasOf(stack: Compose): Promise<string[]> {
  return (await askEach(stack, '/status')).map((text) => JSON.parse(text).replica)
}

/** Queries the admin port of every tunnel that web can find. */
async function askEach(stack: Compose, path: string): Promise<string[]> {
  const init = JSON.stringify({ headers: { authorization: `Bearer ${deriveAdminToken(PASSWORD)}` } })
  const each = `({ address }) => fetch('http://' + address + ':9091${path}', ${init}).then((r) => r.text())`
  const found = "require('node:dns').promises.lookup('tunnel-admin', { all: true, family: 4 })"
  const code = `${found}.then((all) => Promise.all(all.map(${each}))).then((all) => console.log(JSON.stringify(all)))`
  return JSON.parse(await stack.script(code))
}
