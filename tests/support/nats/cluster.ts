/** Cluster of three NATS servers, each a process with its own folder. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { freePort } from '../../../scripts/start/free-port.ts'
import { type Program, startProgram } from '../program.ts'
import { NATS_PROGRAM } from '../requirements.ts'
import { makeMemoryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'

type Member = { name: string; server: string; config: string; running: Program | undefined }

/** Resolves when the servers have elected a leader. `await using` removes the cluster. */
export async function startNatsCluster() {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeMemoryFolder())
  const routes = await Promise.all([freePort(), freePort(), freePort()])
  const members = await Promise.all(
    routes.map((route, i) => configure(folder.path, `nats-${i + 1}`, route, routes)),
  )
  starting.defer(async () => void (await Promise.all(members.map(({ running }) => running?.kill()))))
  for (const member of members) start(member)
  const servers = members.map(({ server }) => server)
  await until(() => answers(servers), 90_000)
  const nc = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
  starting.defer(() => nc.close())
  const jsm = await jetstreamManager(nc, { timeout: 2_000 }) // a request between two leaders gets no response
  const started = starting.move()
  return {
    servers,
    jsm,
    /** Makes the leader of a stream step down, and resolves when another one leads. */
    async moveLeader(stream: string): Promise<void> {
      const before = await leaderOf(jsm, stream)
      await nc.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, '', { timeout: 5_000 })
      await until(
        async () => ![undefined, before].includes(await leaderOf(jsm, stream).catch(() => undefined)),
      )
    },
    /** Sends SIGKILL to the leader of a stream; resolves when another one leads. `restart` starts the killed one again. */
    async killLeader(stream: string): Promise<() => void> {
      const before = await leaderOf(jsm, stream)
      const member = members.find(({ name }) => name === before)
      await member?.running?.kill()
      await until(
        async () => ![undefined, before].includes(await leaderOf(jsm, stream).catch(() => undefined)),
      )
      return () => member && start(member)
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function configure(folder: string, name: string, route: number, routes: number[]): Promise<Member> {
  const server = `127.0.0.1:${await freePort()}`
  const config = join(folder, `${name}.conf`)
  await writeFile(
    config,
    `server_name: ${name}
listen: "${server}"
jetstream { store_dir: "${join(folder, name)}", sync_interval: always }
cluster {
  name: culvert
  listen: "127.0.0.1:${route}"
  routes: [${routes.map((each) => `"nats://127.0.0.1:${each}"`).join(', ')}]
}
`,
  )
  return { name, server, config, running: undefined }
}

function start(member: Member): void {
  member.running = startProgram(member.name, NATS_PROGRAM ?? '', ['-c', member.config], {})
}

async function answers(servers: string[]): Promise<boolean> {
  try {
    const nc = await connect({ servers, reconnect: false, timeout: 1_000 })
    const answer = await nc
      .request('$JS.API.STREAM.NAMES', '', { timeout: 1_000 }) // the new leader responds
      .finally(() => nc.close())
    return !answer.json<{ error?: object }>().error
  } catch {
    return false
  }
}

async function leaderOf(jsm: JetStreamManager, stream: string): Promise<string | undefined> {
  return (await jsm.streams.info(stream)).cluster?.leader
}
