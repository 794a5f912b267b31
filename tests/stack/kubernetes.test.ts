/** Manifests of the chart, as far as Docker containers can run them. */

import { randomBytes } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { BUILD_TIMEOUT_MS, callDocker } from '../support/docker/engine.ts'
import { errorOf } from '../support/envelopes.ts'
import { renderChart } from '../support/kubernetes/chart.ts'
import {
  componentIn,
  configOf,
  containersOf,
  environmentOf,
  initContainersOf,
  podOf,
  workloadsOf,
} from '../support/kubernetes/manifests.ts'
import { ROOT } from '../support/node.ts'
import { post } from '../support/post.ts'
import { NATS_IMAGE, requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'
import { startSentry } from '../support/sentry/sentry.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'
import { until } from '../support/until.ts'

const SECRETS = {
  SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2',
  NATS_USER: 'culvert',
  NATS_PASSWORD: `${randomBytes(32).toString('hex')}@/:#%`,
  CLUSTER_PASSWORD: randomBytes(32).toString('hex'),
}
const NODE_IMAGE = process.env.NODE_IMAGE || 'node:24-slim'
const NAMES = ['culvert-nats-0', 'culvert-nats-1', 'culvert-nats-2']

/** Time for messages that only the killed server had delivered (half a minute), and for each election of a leader. */
const DELIVERED_WITHIN_MS = 90_000

describe('A cluster of three NATS servers', requires('docker', 'nats', 'helm'), () => {
  it('delivers all acknowledged envelopes after one of them was killed', { timeout: 300_000 }, async () => {
    await using cluster = await startCluster()
    await using sentry = await startSentry()
    const places = cluster.ports.map((port) => `127.0.0.1:${port}`).join(',')
    await using tunnel = await startTunnel({
      env: {
        SENTRY_DSN: sentry.dsn(),
        SPOOL_CREDENTIALS: `${SECRETS.NATS_USER}:${SECRETS.NATS_PASSWORD}`,
        SPOOL_URL: `nats://${places}?replicas=3`,
        UPSTREAM_LATE_MS: '100',
      },
    })
    const waits = async () => (await (await tunnel.admin('/status')).json()).spool.envelopes
    await until(async () => (await waits()) === 0) // the servers are connected to each other
    await sentry.away()
    const ids = Array.from({ length: 20 }, () => randomBytes(16).toString('hex'))
    for (const event_id of ids)
      expect((await post(tunnel.url, { body: errorOf(sentry.dsn(), { event_id }) })).outcome).toBe('spooled')
    await cluster.kill('culvert-nats-0')
    await sentry.back()
    await until(async () => {
      const delivered = sentry.requests.filter(hasItem('event')).map(({ header }) => header.event_id)
      return ids.every((id) => delivered.includes(id))
    }, DELIVERED_WITHIN_MS)
    await until(async () => (await waits()) === 0)
  })
})

describe('The pod of nginx', { ...requires('docker', 'helm'), timeout: 300_000 }, () => {
  it('reaches tunnel and web by their full names, with command, user and rights of its manifest', async () => {
    await using network = await makeNetwork()
    await using folder = await makeFolder()
    await using tunnel = await buildTunnel()
    await chmod(folder.path, 0o777) // the volume belongs to the pod's group
    const manifests = renderChart()
    const says = (name: string, port: number) =>
      `require('node:http').createServer((_, response) => response.end('${name}')).listen(${port})`
    for (const [name, port] of [
      ['tunnel', 9090],
      ['web', 3000],
    ] as const)
      await network.run(`culvert-${name}`, [], NODE_IMAGE, ['node', '-e', says(name, port)])

    const pod = componentIn(workloadsOf(manifests), 'nginx')
    const [renderer] = initContainersOf(pod)
    const [container] = containersOf(pod)
    const user = `${podOf(pod).securityContext?.runAsUser}`
    const rights = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', user]
    const env = Object.entries(environmentOf(pod, SECRETS)).flatMap(([name, value]) => [
      '-e',
      `${name}=${value}`,
    ])
    const config = ['-v', `${folder.path}:/nginx`]
    const once = ['run', '--rm', '--network', network.name, ...rights, ...env, ...config]
    await docker(...once, tunnel.image, ...(renderer?.command ?? []))
    const volumes = [...config, '--tmpfs', '/var/tmp:mode=1777']
    const command = [...(container?.command ?? []), ...(container?.args ?? [])]
    const nginx = await network.run('culvert-nginx', [...rights, ...volumes], container?.image ?? '', command)

    const ask = async (path: string) =>
      (
        await docker('exec', nginx, 'curl', '--silent', `http://127.0.0.1:8080${path}`).catch(() => ({
          stdout: '',
        }))
      ).stdout
    await until(async () => (await ask('/monitoring')) === 'tunnel')
    await until(async () => (await ask('/')) === 'web')
  })
})

const docker = (...args: string[]) => callDocker(args)

async function buildTunnel() {
  const image = `culvert-tunnel-test:${randomBytes(4).toString('hex')}`
  const base = ['--build-arg', `NODE_IMAGE=${NODE_IMAGE}`]
  const build = ['build', '--file', resolve(ROOT, 'Dockerfile.tunnel'), ...base, '--tag', image, ROOT]
  await callDocker(build, { timeout: BUILD_TIMEOUT_MS })
  return { image, [Symbol.asyncDispose]: async () => void (await docker('image', 'rm', image)) }
}

/** Names containers by the full names that services would have. */
async function makeNetwork() {
  await using starting = new AsyncDisposableStack()
  const network = `culvert-test-${randomBytes(4).toString('hex')}`
  await docker('network', 'create', network)
  starting.defer(async () => void (await docker('network', 'rm', network)))
  const started = starting.move()
  return {
    name: network,
    async run(name: string, options: string[], image: string, command: string[]): Promise<string> {
      const container = `${network}-${name.split('.')[0]}`
      const alias = ['--network', network, '--network-alias', `${name}.culvert.svc.cluster.local`]
      await docker('run', '--detach', '--name', container, ...alias, ...options, image, ...command)
      started.defer(async () => void (await docker('rm', '--force', '--volumes', container)))
      return container
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Starts the servers as the StatefulSet does: with the same names, arguments and configuration. */
async function startCluster() {
  await using starting = new AsyncDisposableStack()
  const network = starting.use(await makeNetwork())
  const manifests = renderChart()
  const nats = componentIn(workloadsOf(manifests), 'nats')
  const folder = starting.use(await makeFolder())
  await chmod(folder.path, 0o755) // the server is not root
  const config = join(folder.path, 'nats.conf')
  await writeFile(config, configOf(manifests, 'culvert-nats')['nats.conf'] ?? '')
  const ports: number[] = []
  const containers = new Map<string, string>()
  for (const name of NAMES) {
    const port = await freePort()
    ports.push(port)
    const options = [
      '-p',
      `127.0.0.1:${port}:4222`,
      ...Object.entries({ ...environmentOf(nats, SECRETS), POD_NAME: name, ADDRESS: '"0.0.0.0"' }).flatMap(
        ([key, value]) => ['-e', `${key}=${value}`],
      ),
      '-v',
      `${config}:/culvert/nats.conf:ro`,
      '--tmpfs',
      '/run/nats', // the volume "run"
    ]
    const command = ['--config', '/culvert/nats.conf']
    containers.set(name, await network.run(`${name}.culvert-nats`, options, NATS_IMAGE, command))
  }
  const started = starting.move()
  return {
    ports,
    kill: (name: string) => docker('kill', containers.get(name) ?? ''),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
