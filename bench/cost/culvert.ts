/** Starts Culvert as shipped: with defaults, an empty folder and its log in a pipe; alone, or as replicas behind nginx. */

import { join } from 'node:path'
import { TUNNEL_GC, TUNNEL_HEAP, TUNNEL_MALLOC } from '../../scripts/processes.ts'
import { freePort } from '../../scripts/start/free-port.ts'
import { startNginx } from '../../tests/support/nginx/nginx.ts'
import { NODE, ROOT } from '../../tests/support/node.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import type { Cores } from '../load/cores.ts'
import { childrenOf } from '../load/process-cost.ts'
import { type Server, type ServerStart, startProcess } from '../load/server.ts'
import { readDelivered, readReceipts } from './tunnel-counts.ts'

export const TUNNEL = join(ROOT, 'tunnel/src/main.ts')
/** Folder of Node's compile cache, as in `npm start`. */
export const COMPILED = join(ROOT, 'tunnel/.compiled')
export const TOKEN = 'token-of-the-benchmark'

export type Culvert = Server & { adminUrl: string }

/** Starts one tunnel, which receives requests as from nginx. */
export async function startCulvert(cores: Cores, dsns: readonly string[]): Promise<Culvert> {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const tunnel = await startTunnel(cores, dsns, folder.path)
  starting.use(tunnel)
  const started = starting.move()
  return { ...tunnel, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** Starts a replica on each of the cores. They share a spool. */
export async function startReplicas(places: readonly Cores[], dsns: readonly string[]) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const all: Culvert[] = []
  for (const cores of places) all.push(starting.use(await startTunnel(cores, dsns, folder.path)))
  const started = starting.move()
  return { all, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** Starts replicas that share a spool, behind the nginx that ships with them. */
export function startBehindNginx(replicas: number): ServerStart {
  return async (cores, dsns) => {
    await using starting = new AsyncDisposableStack()
    const { all: tunnels } = starting.use(await startReplicas(Array<Cores>(replicas).fill(cores), dsns))
    const nginx = starting.use(
      await startNginx({
        tunnels: tunnels.map(({ port }) => `127.0.0.1:${port}`),
        web: '127.0.0.1:9',
        // The load names an address for each visitor; all of them connect from loopback.
        env: { TRUSTED_PROXIES: '127.0.0.1/32' },
        prefix: cores.server,
      }),
    )
    const started = starting.move()
    return {
      port: nginx.port,
      pids: () => [...tunnels.flatMap(({ pids }) => pids()), ...withWorkers(nginx.pid)],
      counts: async () => addUp(await Promise.all(tunnels.map(({ counts }) => counts()))),
      [Symbol.asyncDispose]: () => started.disposeAsync(),
    }
  }
}

/** Returns the master process of nginx and its workers. */
export function withWorkers(master = 0): number[] {
  return [master, ...childrenOf(master)]
}

async function startTunnel(cores: Cores, dsns: readonly string[], cwd: string): Promise<Culvert> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const process = await startProcess(cores, {
    command: [NODE, ...TUNNEL_HEAP, TUNNEL_GC, TUNNEL],
    cwd,
    env: {
      ...TUNNEL_MALLOC,
      NODE_COMPILE_CACHE: COMPILED,
      SENTRY_DSN: dsns.join(' '),
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN: TOKEN,
    },
    greeting: /"msg":"listening"/,
  })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const [, replica = ''] = /"replica":"([^"]+)"/.exec(process.output) ?? []
  return {
    pids: () => [process.pid],
    port,
    adminUrl,
    counts: async () => ({
      'log lines': process.logLines(),
      culvert_envelopes_total: await readDelivered(adminUrl),
      receipts: await readReceipts(adminUrl, TOKEN, replica),
    }),
    [Symbol.asyncDispose]: process[Symbol.asyncDispose],
  }
}

function addUp(all: readonly Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const counts of all)
    for (const [counter, count] of Object.entries(counts)) sum[counter] = (sum[counter] ?? 0) + count
  return sum
}
