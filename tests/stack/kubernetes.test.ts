/** Manifests of the chart, as far as Docker containers can run them. */

import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { describe, it } from 'vitest'
import { callDocker } from '../support/docker/engine.ts'
import { tagImages } from '../support/docker/images.ts'
import { renderChart } from '../support/kubernetes/chart.ts'
import {
  componentIn,
  containersOf,
  environmentOf,
  initContainersOf,
  podOf,
  workloadsOf,
} from '../support/kubernetes/manifests.ts'
import { requires } from '../support/requirements.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const NODE_IMAGE = process.env.NODE_IMAGE || 'node:24-slim'

describe('The pod of nginx', { ...requires('docker', 'helm'), timeout: 300_000 }, () => {
  it('reaches tunnel and web by their full names, with command, user and rights of its manifest', async () => {
    await using network = await makeNetwork()
    await using folder = await makeFolder()
    await using images = await nameImages()
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
    const env = Object.entries(
      environmentOf(pod, { SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2' }),
    ).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const config = ['-v', `${folder.path}:/nginx`]
    const once = ['run', '--rm', '--network', network.name, ...rights, ...env, ...config]
    await docker(...once, images.tunnel, ...(renderer?.command ?? []))
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

/** Tags the images of the test run. */
async function nameImages() {
  const project = `culvert-test-${randomBytes(4).toString('hex')}`
  const [tunnel, web] = [`${project}-tunnel`, `${project}-web`]
  await tagImages(project)
  return { tunnel, [Symbol.asyncDispose]: async () => void (await docker('image', 'rm', tunnel, web)) }
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
