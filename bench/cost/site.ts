/** Measures the figures of docs/benchmarks.md: nginx before a tunnel, their memory, and an hour of outage. */

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Pool } from 'undici'
import { startNginx } from '../../tests/support/nginx/nginx.ts'
import { capture } from '../../tests/support/sdk-captures.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../tests/support/tunnel/tunnel.ts'
import { postInTurn } from '../load/load.ts'
import { childrenOf, cpuSeconds, residentBytes } from '../load/process-cost.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildRequests } from '../load/requests.ts'
import { openSink } from '../load/sink.ts'
import { describeMachine } from '../report/machine.ts'
import { renderTable } from '../report/table.ts'

const QUICK = process.argv.includes('--quick')
const POSTS = { '3.3 KB error': 20_000, '40 KB span batch': 4_000, '150 KB replay': 1_000 }
const KINDS = ['3.3 KB error', '40 KB span batch', '150 KB replay'] as const
const OUTAGE = QUICK ? 200 : 20_000
const CONNECTIONS = 32

await using folder = await makeFolder()
await using sink = await openSink()
const dsns = dsnsOf(sink, 1)
const env = {
  SENTRY_DSN: dsns.join(' '),
  SPOOL_URL: pathToFileURL(join(folder.path, 'spool', 'spool.db')).href,
}
await using tunnel = await startTunnel({ env })
await using nginx = await startNginx({ tunnels: [`127.0.0.1:${tunnel.port}`], web: '127.0.0.1:9' })
const rows: string[][] = [['what', 'figure']]

row('a tunnel that has just started, MB', mb(residentBytes(pidOf(tunnel))))
for (const kind of KINDS) {
  const requests = buildRequests(kind, dsns)
  const posts = QUICK ? 100 : POSTS[kind]
  await postInTurn({ port: nginx.port, requests, posts, connections: CONNECTIONS })
  const before = { nginx: workersCpu(nginx.pid), tunnel: cpuSeconds(pidOf(tunnel)) }
  await postInTurn({ port: nginx.port, requests, posts, connections: CONNECTIONS })
  row(`${kind}: CPU in nginx, µs an envelope`, micros(workersCpu(nginx.pid) - before.nginx, posts))
  row(`${kind}: CPU in the tunnel, µs an envelope`, micros(cpuSeconds(pidOf(tunnel)) - before.tunnel, posts))
}
row('the tunnel after that load, MB', mb(residentBytes(pidOf(tunnel))))
row(
  'each worker of nginx after that load, MB',
  workersOf(nginx.pid)
    .map((pid) => mb(residentBytes(pid)))
    .join(', '),
)

await using cut = await startTunnel({
  env: { ...env, SENTRY_DSN: dsnsOf({ protocol: 'http', port: 9 }, 1).join(' ') },
})
const began = cpuSeconds(pidOf(cut))
await postDistinct(cut, OUTAGE)
row(
  'in an outage: CPU in the tunnel, µs an envelope of 3.3 KB',
  micros(cpuSeconds(pidOf(cut)) - began, OUTAGE),
)
row(
  'in an outage: disk, KB an envelope of 3.3 KB',
  (sizeOf(join(folder.path, 'spool')) / OUTAGE / 1000).toFixed(2),
)
row('in an outage: the tunnel, MB', mb(residentBytes(pidOf(cut))))

console.log(`${describeMachine()}, ${CONNECTIONS} connections\n`)
console.log(renderTable(rows))

/** Builds envelopes that differ: a spool stores equal ones once. */
async function postDistinct(to: Tunnel, many: number): Promise<void> {
  const { body, dsn = '' } = capture('nextjs-11.1.0-init-tunnel-2-event')
  const text = body.toString('latin1').replace(dsn, dsnsOf({ protocol: 'http', port: 9 }, 1)[0] ?? '')
  const [, id = ''] = /"event_id":"([0-9a-f]{32})"/.exec(text) ?? []
  await using pool = Object.assign(new Pool(to.url, { connections: CONNECTIONS }), {
    [Symbol.asyncDispose]: async () => pool.close(),
  })
  let left = many
  const connection = async () => {
    while (left-- > 0) {
      const envelope = Buffer.from(text.replaceAll(id, left.toString(16).padStart(32, '0')), 'latin1')
      const answer = await pool.request({ method: 'POST', path: '/monitoring', body: envelope })
      await answer.body.dump()
      if (answer.headers['x-culvert-outcome'] !== 'spooled')
        throw new Error(`an envelope of the outage was answered ${answer.statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, connection))
}

function pidOf({ pid }: Tunnel): number {
  if (pid === undefined) throw new Error('the tunnel has no process')
  return pid
}

function workersOf(master = 0): number[] {
  return childrenOf(master)
}

function workersCpu(master: number | undefined): number {
  return cpuSeconds(...workersOf(master))
}

function sizeOf(place: string): number {
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' })
  return files.reduce((sum, file) => sum + statSync(join(place, file)).size, 0)
}

function row(what: string, figure: string): void {
  rows.push([what, figure])
}

function micros(seconds: number, envelopes: number): string {
  return ((seconds * 1e6) / envelopes).toFixed(0)
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}
