/** Profile `metrics` of the shipped compose file, with Debian's Prometheus when its official image is not available. */

import { execFile } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Compose, startCompose } from '../support/docker/compose.ts'
import { PROMETHEUS_PROGRAM, requires } from '../support/requirements.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const IMAGE = 'culvert-test-prometheus'

describe('Prometheus beside the containers', requires('docker', 'prometheus'), () => {
  const started = new AsyncDisposableStack()
  let stack: Compose

  beforeAll(async () => {
    started.use(await buildImage())
    const env = { PROMETHEUS_IMAGE: `${IMAGE}:test` }
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

/** Builds an image of this machine's binary and the base image of the tunnel, with the paths of the official image. */
async function buildImage() {
  await using folder = await makeFolder()
  const docker = (...args: string[]) => promisify(execFile)('docker', args)
  await copyFile(PROMETHEUS_PROGRAM ?? '', join(folder.path, 'prometheus'))
  const lines = [
    `FROM ${process.env.NODE_IMAGE || 'node:24-slim'}`,
    'COPY prometheus /bin/prometheus',
    'RUN install -d -o 65534 -g 65534 /prometheus',
    'USER 65534',
    'ENTRYPOINT ["/bin/prometheus"]',
  ]
  await writeFile(join(folder.path, 'Dockerfile'), lines.join('\n'))
  await docker('build', '--quiet', '--tag', `${IMAGE}:test`, folder.path)
  return { [Symbol.asyncDispose]: async () => void (await docker('rmi', '--force', `${IMAGE}:test`)) }
}
