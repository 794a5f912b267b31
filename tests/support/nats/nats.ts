/** Real NATS server with the shipped configuration: from the PATH, or from its image. */

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { freePort } from '../../../scripts/start/free-port.ts'
import { callDocker } from '../docker/engine.ts'
import { ROOT } from '../node.ts'
import { type Program, startProgram } from '../program.ts'
import { NATS_IMAGE, NATS_PROGRAM } from '../requirements.ts'
import { makeMemoryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'

export type NatsOptions = {
  /** Configuration in place of the shipped one. */
  config?: string
  /** Required credentials; without them anyone may connect. */
  user?: string
  password?: string
  /** Address on which it listens. */
  port?: number
  /** Folder of its streams; a new one unless given. */
  store?: string
}

export type Nats = Awaited<ReturnType<typeof startNats>>

export const NATS_CONFIG = resolve(ROOT, 'deploy/nats.conf')

/** Starts the server and waits until it responds. `await using` removes server and folder. */
export async function startNats({
  config = NATS_CONFIG,
  user,
  password,
  port: given,
  store: givenStore,
}: NatsOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeMemoryFolder())
  const port = given ?? (await freePort())
  const server = `127.0.0.1:${port}`
  const monitoringPort = await freePort()
  const store = givenStore ?? join(folder.path, 'store')
  const configs = join(folder.path, 'config')
  await mkdir(join(configs, 'credentials'), { recursive: true })
  await writeFile(join(configs, 'nats.conf'), await readFile(config, 'utf8'))
  const login = user ? `authorization { user: "${user}", password: "${password}" }\n` : ''
  await writeFile(join(configs, 'credentials/nats.conf'), login)
  let running: Program | undefined

  async function start(): Promise<void> {
    const program = NATS_PROGRAM ? startProcess(NATS_PROGRAM) : startContainer(NATS_IMAGE)
    running = program
    await Promise.race([
      until(() => answers(server, user, password), 90_000),
      program.exited.then(() => program.stop()),
    ])
  }

  function startProcess(program: string): Program {
    const args = [
      ...['-c', join(configs, 'nats.conf'), '-a', '127.0.0.1', '-p', String(port)],
      ...['-m', String(monitoringPort), '-sd', store],
    ]
    return startProgram('nats-server', program, args, {})
  }

  function startContainer(image: string): Program {
    const name = `culvert-test-${randomUUID()}`
    const mounts = ['-v', `${configs}:/config:ro`, '-v', `${store}:/data`]
    const options = ['--rm', '--name', name, '-p', `${server}:4222`, ...mounts]
    const program = startProgram(
      'nats-server',
      'docker',
      ['run', ...options, image, '-c', '/config/nats.conf', '-sd', '/data'],
      {},
    )
    const kill = async () => {
      await callDocker(['kill', name]).catch(() => program.kill()) // it may have ended
      await program.exited
    }
    return { ...program, kill }
  }

  /** Sends SIGKILL. */
  async function kill(): Promise<void> {
    await running?.kill()
  }

  starting.defer(kill)
  await start()
  const started = starting.move()
  return {
    url: `nats://${server}`,
    server,
    /** Port of its monitoring, when it runs from the PATH. */
    monitoringPort,
    store,
    /** PID of the process when it runs from the PATH. */
    pid: () => running?.pid,
    start,
    kill,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function answers(server: string, user = '', pass = ''): Promise<boolean> {
  try {
    const nc = await connect({
      servers: server,
      reconnect: false,
      timeout: 1_000,
      ...(user && { user, pass }),
    })
    await nc.request('$JS.API.INFO', '', { timeout: 1_000 }).finally(() => nc.close())
    return true
  } catch {
    return false
  }
}
