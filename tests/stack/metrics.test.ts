/** Profile `metrics` of the shipped compose file, with Debian's Prometheus when its official image is not available. */

import { chmod, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { type Compose, startCompose } from '../support/docker/compose.ts'
import { ROOT } from '../support/node.ts'
import { startProgram } from '../support/program.ts'
import { PROMETHEUS_PROGRAM, requires } from '../support/requirements.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const SHIPPED = join(ROOT, 'deploy/prometheus')

describe('Prometheus beside the containers', requires('docker', 'prometheus'), () => {
  const started = new AsyncDisposableStack()
  let stack: Compose

  beforeAll(async () => {
    const folder = started.use(await makeFolder())
    const env = {
      COMPOSE_FILE: `docker-compose.yml:${await writeOverride(folder.path)}`,
    }
    stack = started.use(await startCompose({ services: ['tunnel', 'prometheus'], env }))
  })

  afterAll(() => started.disposeAsync())

  it('finds every tunnel by one name on the admin network, also a third one that starts later', async () => {
    await until(async () => (await figure('count(up{job="culvert-tunnel"} == 1)')) === '2', 60_000)
    await stack.compose('up', '--detach', '--no-deps', '--no-recreate', '--scale', 'tunnel=3', 'tunnel')
    await until(async () => (await figure('count(up{job="culvert-tunnel"} == 1)')) === '3', 60_000)
  })

  it('has loaded the rules, and is not reachable from outside', async () => {
    const { data } = await ask('rules')
    expect(data.groups.map(({ name }: { name: string }) => name)).toContain('culvert-objective')
    const published = await stack.compose('ps', '--format', '{{.Publishers}}', 'prometheus')
    expect(published).not.toContain('127.0.0.1')
    expect(published).not.toContain('0.0.0.0')
  })

  it('of this machine finds the tunnels by the job for an existing one', async () => {
    await using folder = await makeFolder()
    const port = await freePort()
    const config = join(folder.path, 'prometheus.yml')
    const mine = `["com.docker.compose.service=tunnel", "com.docker.compose.project=${stack.project}"]`
    const job = await readFile(join(SHIPPED, 'existing.yml'), 'utf8')
    const global = 'global: { scrape_interval: 1s }\n' // Prometheus waits up to an interval, by default 1 min, before its first scrape
    await writeFile(config, global + job.replace('["com.docker.compose.service=tunnel"]', mine)) // other stacks run beside this one
    const program = startProgram(
      'Prometheus',
      PROMETHEUS_PROGRAM ?? '',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder.path, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      {},
    )
    await using _ = { [Symbol.asyncDispose]: program.kill }
    const running = (await stack.containers('tunnel')).length
    await until(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/targets`).catch(() => undefined)
      const { data } = (await response?.json()) ?? {}
      const up = data?.activeTargets.filter(({ health }: { health: string }) => health === 'up')
      return up?.length === running
    }, 60_000)
  })

  /** Sends a query from a tunnel, which is on the network of Prometheus. */
  async function ask(path: string) {
    const code = `fetch('http://prometheus:9090/api/v1/${path}').then((r) => r.text()).then(console.log)`
    const text = await stack.compose('exec', '-T', '--index', '1', 'tunnel', 'node', '-e', code)
    return text.startsWith('{') ? JSON.parse(text) : {}
  }

  async function figure(expr: string): Promise<string | undefined> {
    const answer = await ask(`query?query=${encodeURIComponent(expr)}`).catch(() => ({}))
    return answer.data?.result?.[0]?.value?.[1]
  }
})

/** Writes a Compose file that runs this machine's binary in the base image of the tunnel, with intervals of 1 s. */
async function writeOverride(folder: string): Promise<string> {
  const config = join(folder, 'config')
  await chmod(folder, 0o755) // for the container, which may run as another user
  await cp(SHIPPED, config, { recursive: true })
  const settings = await readFile(join(config, 'prometheus.yml'), 'utf8')
  await writeFile(join(config, 'prometheus.yml'), settings.replaceAll(/interval: \d+s/g, 'interval: 1s'))
  const prometheus = {
    image: process.env.NODE_IMAGE || 'node:24-slim',
    user: '0', // owner of the new volume
    entrypoint: ['/bin/prometheus'],
    volumes: [`${PROMETHEUS_PROGRAM}:/bin/prometheus:ro`, `${config}:/culvert:ro`],
  }
  const file = join(folder, 'prometheus.json')
  await writeFile(file, JSON.stringify({ services: { prometheus } })) // JSON is valid YAML
  return file
}
