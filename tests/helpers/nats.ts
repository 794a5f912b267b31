/** A real NATS server with the configuration we ship: from the PATH, or else from its image. */

import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { makeFolder } from './folder.ts'
import { ROOT } from './node.ts'
import { freePort } from './ports.ts'
import { type Program, startProgram } from './program.ts'
import { NATS_IMAGE, NATS_PROGRAM } from './requirements.ts'
import { until } from './until.ts'

export type NatsOptions = {
  /** Another configuration than the one we ship. */
  config?: string
  /** Where it listens. */
  port?: number
}

export type Nats = Awaited<ReturnType<typeof startNats>>

export const NATS_CONFIG = resolve(ROOT, 'deploy/nats.conf')

/** Starts it on a folder of its own, and waits until it answers. `await using` takes both away. */
export async function startNats({ config = NATS_CONFIG, port: given }: NatsOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const port = given ?? (await freePort())
  const server = `127.0.0.1:${port}`
  const store = join(folder.path, 'store')
  let running: Program | undefined

  async function start(): Promise<void> {
    const program = NATS_PROGRAM ? startProcess(NATS_PROGRAM) : startContainer(NATS_IMAGE)
    running = program
    await Promise.race([until(() => answers(server), 30_000), program.exited.then(() => program.stop())])
  }

  function startProcess(program: string): Program {
    const args = ['-c', config, '-a', '127.0.0.1', '-p', String(port), '-sd', store]
    return startProgram('nats-server', program, args, {})
  }

  function startContainer(image: string): Program {
    const name = `culvert-test-${randomUUID()}`
    const mounts = ['-v', `${config}:/nats.conf:ro`, '-v', `${store}:/data`]
    const options = ['--rm', '--name', name, '-p', `${server}:4222`, ...mounts]
    const program = startProgram(
      'nats-server',
      'docker',
      ['run', ...options, image, '-c', '/nats.conf', '-sd', '/data'],
      {},
    )
    const kill = async () => {
      spawnSync('docker', ['kill', name])
      await program.exited
    }
    return { ...program, kill }
  }

  /** SIGKILL: it gets no chance to tidy up. */
  async function kill(): Promise<void> {
    await running?.kill()
  }

  starting.defer(kill)
  await start()
  const started = starting.move()
  return {
    url: `nats://${server}`,
    server,
    store,
    /** Of the process, when it runs from the PATH. */
    pid: () => running?.pid,
    start,
    kill,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function answers(server: string): Promise<boolean> {
  try {
    const nc = await connect({ servers: server, reconnect: false, timeout: 1_000 })
    await nc.request('$JS.API.INFO', '', { timeout: 1_000 }).finally(() => nc.close())
    return true
  } catch {
    return false
  }
}
