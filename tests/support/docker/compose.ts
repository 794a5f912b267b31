/** The shipped `docker-compose.yml`, run as a project of its own that leaves nothing behind. */

import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { deriveAdminToken } from '../../../tunnel/src/config/admin-token.ts'
import type { InboxEntry } from '../../../tunnel/src/contract.ts'
import { SITE_HOST } from '../browser/chromium.ts'
import { ROOT } from '../node.ts'
import { freePort } from '../ports.ts'

const run = promisify(execFile)

export const PASSWORD = 'password of the tests'
const ADMIN = `http://tunnel-admin:9091`
const OUTPUT_BYTES = 64 * 1024 * 1024 // 64 MiB

export type Compose = Awaited<ReturnType<typeof startCompose>>

export type ComposeOptions = {
  /** All of them unless named. */
  services?: string[]
  /** Settings beside the ones made here. */
  env?: Record<string, string>
}

/** Starts services and waits until they are healthy. `await using` removes all. */
export async function startCompose({ services = [], env: settings = {} }: ComposeOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const project = `culvert-test-${randomBytes(4).toString('hex')}`
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME, // Compose itself may be kept there
    DOCKER_HOST: process.env.DOCKER_HOST,
    HTTP_PORT: String(port),
    INGEST_SUBNET: `10.${randomInt(204, 250)}.${randomInt(256)}.0/24`, // nobody else's, and beside the one that the file itself would take
    OPERATOR_PASSWORD: PASSWORD,
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_ENV_FILES: '/dev/null', // no settings of whoever runs the tests
    ...settings,
  }

  /** Runs docker, and gives what it wrote. Rejects with the rest when it fails. */
  async function docker(...args: string[]): Promise<string> {
    const { stdout } = await run('docker', args, { cwd: ROOT, env, maxBuffer: OUTPUT_BYTES })
    return stdout.trim()
  }

  const compose = (...args: string[]) => docker('compose', ...args)

  starting.defer(async () => {
    await compose('--profile', '*', 'down', '--volumes', '--remove-orphans').catch(forgiveNetwork)
    await removeImages()
  })

  const mine = ['--filter', `label=com.docker.compose.project=${project}`]

  /** An engine (20.10) may hold on to the network of a container that was killed, though none is left in it, until it is itself started anew. */
  async function forgiveNetwork(error: Error): Promise<void> {
    const left = await docker('container', 'ls', '--all', '--quiet', ...mine)
    if (left !== '' || !error.message.includes('has active endpoints')) throw error
  }

  /** Those of this project, also where a later build has taken their names. */
  async function removeImages(): Promise<void> {
    const images = (await docker('image', 'ls', '--all', '--quiet', ...mine)).split('\n').filter(Boolean)
    if (images.length > 0) await docker('image', 'rm', '--force', ...new Set(images))
  }

  async function up(...names: string[]): Promise<void> {
    await compose('up', '--build', '--detach', '--wait', ...names).catch(async (error) => {
      throw new Error(`${error.message}\n${await compose('logs', '--no-color', '--tail', '50')}`)
    })
  }

  /** Runs JavaScript in a container that is on the admin network, and gives what it logged. */
  const script = (code: string) => compose('exec', '-T', 'web', 'node', '-e', code)

  /** Asks a tunnel's admin port, and gives the body of the answer. */
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
    /** As Chromium of these tests knows it. */
    siteUrl: `http://${SITE_HOST}:${port}`,
    docker,
    compose,
    up,
    script,
    /** Ids of a service's containers. */
    containers: async (service: string) =>
      (await compose('ps', '--quiet', service)).split('\n').filter(Boolean),
    /** The container's address on one of the project's networks. */
    address: (container: string, network: string) =>
      docker(
        'inspect',
        '--format',
        `{{(index .NetworkSettings.Networks "${project}_${network}").IPAddress}}`,
        container,
      ),
    /** Returns the inbox entries, the newest first. */
    inbox: async (): Promise<InboxEntry[]> => JSON.parse(String(await admin('/inbox'))).entries,
    /** One envelope of it, as bytes. */
    kept: (id: string) => admin(`/inbox/${id}`),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
