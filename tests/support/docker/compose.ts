/** The shipped `docker-compose.yml`, run as a project of its own that leaves nothing behind. */

import { randomBytes, randomInt } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { deriveAdminToken } from '../../../contract/admin-token.ts'
import type { InboxEntry } from '../../../contract/inbox.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { SITE_HOST } from '../browser/chromium.ts'
import { BUILD_TIMEOUT_MS, callDocker } from './engine.ts'
import { tagImages } from './images.ts'

export const PASSWORD = 'password of the tests'
/** Address of this machine on the Docker engine's bridge, which every container can reach. */
export const BRIDGE =
  networkInterfaces().docker0?.find(({ family }) => family === 'IPv4')?.address ?? '172.17.0.1'
/** Number of this worker: no other one that runs draws from the same subnets. */
const WORKER = Number(process.env.VITEST_POOL_ID ?? 0) % 46
const ADMIN = `http://tunnel-admin:9091`
const SHIPPED_FILE = 'docker-compose.yml'
/** File that shortens the interval of the health checks. */
const HEALTH_FILE = join(import.meta.dirname, 'health.yml')

export type Compose = Awaited<ReturnType<typeof startCompose>>

export type ComposeOptions = {
  /** Services to start; all of them unless given. */
  services?: string[]
  /** Settings in addition to the default ones of the tests. */
  env?: Record<string, string>
}

/** Starts services and waits until they are healthy. `await using` removes everything. */
export async function startCompose({ services = [], env: settings = {} }: ComposeOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const project = `culvert-test-${randomBytes(4).toString('hex')}`
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME, // Compose itself may be installed there
    DOCKER_HOST: process.env.DOCKER_HOST,
    HTTP_PORT: String(port),
    EDGE: `10.${204 + WORKER}.${randomInt(256)}.0/24`, // a subnet of its own, different from the default of the file
    OPERATOR_PASSWORD: PASSWORD,
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_ENV_FILES: '/dev/null', // ignores the .env of the work tree
    ...settings,
    COMPOSE_FILE: `${settings.COMPOSE_FILE ?? SHIPPED_FILE}:${HEALTH_FILE}`,
  }

  /** Runs docker, and returns its output. Rejects with its errors when it fails. */
  async function docker(...args: string[]): Promise<string> {
    const mayBuild = args[0] === 'compose' && args.includes('up')
    const { stdout } = await callDocker(args, { env, ...(mayBuild && { timeout: BUILD_TIMEOUT_MS }) })
    return stdout.trim()
  }

  const compose = (...args: string[]) => docker('compose', ...args)

  starting.defer(async () => {
    await compose('--profile', '*', 'down', '--volumes', '--remove-orphans').catch(forgiveNetwork)
    await removeImages()
  })

  const mine = ['--filter', `label=com.docker.compose.project=${project}`]

  /** Ignores a network that Docker 20.10 does not release after a container was killed, until the engine restarts. */
  async function forgiveNetwork(error: Error): Promise<void> {
    const left = await docker('container', 'ls', '--all', '--quiet', ...mine)
    if (left !== '' || !error.message.includes('has active endpoints')) throw error
  }

  /** Removes the names that begin with the project's, and images that this project has built. */
  async function removeImages(): Promise<void> {
    const named = ['--format', '{{.Repository}}:{{.Tag}}', '--filter', `reference=${project}-*`]
    for (const selected of [named, ['--all', '--quiet', ...mine]]) {
      const images = (await docker('image', 'ls', ...selected)).split('\n').filter(Boolean)
      if (images.length > 0) await docker('image', 'rm', '--force', ...new Set(images))
    }
  }

  const build = (await tagImages(project)) ? [] : ['--build']

  async function up(...names: string[]): Promise<void> {
    await compose('up', ...build, '--detach', '--wait', ...names).catch(async (error) => {
      throw new Error(`${error.message}\n${await compose('logs', '--no-color', '--tail', '50')}`)
    })
  }

  /** Runs JavaScript in a container on the admin network, and returns its output. */
  const script = (code: string) => compose('exec', '-T', 'web', 'node', '-e', code)

  /** Queries a tunnel's admin port, and returns the body of the response. */
  async function admin(path: string): Promise<Buffer> {
    const init = JSON.stringify({ headers: { authorization: `Bearer ${deriveAdminToken(PASSWORD)}` } })
    const code = `fetch('${ADMIN}${path}', ${init}).then((r) => r.arrayBuffer()).then((b) => console.log(Buffer.from(b).toString('base64')))`
    return Buffer.from(await script(code), 'base64')
  }

  await up(...services)
  const started = starting.move()
  return {
    project,
    /** Environment of the compose command. */
    env,
    port,
    url: `http://127.0.0.1:${port}`,
    /** URL for Chromium. */
    siteUrl: `http://${SITE_HOST}:${port}`,
    docker,
    compose,
    up,
    script,
    /** Returns the IDs of a service's containers. */
    containers: async (service: string) =>
      (await compose('ps', '--quiet', service)).split('\n').filter(Boolean),
    /** Returns the address of a container on one of the project's networks. */
    address: (container: string, network: string) =>
      docker(
        'inspect',
        '--format',
        `{{(index .NetworkSettings.Networks "${project}_${network}").IPAddress}}`,
        container,
      ),
    /** Returns the inbox entries, the newest first. */
    inbox: async (): Promise<InboxEntry[]> => JSON.parse(String(await admin('/inbox'))).entries,
    /** Returns one envelope of the inbox as bytes. */
    kept: (id: string) => admin(`/inbox/${id}`),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
