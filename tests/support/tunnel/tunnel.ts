/** Tunnel as a process of its own. */

import { resolve } from 'node:path'
import { TUNNEL_GC } from '../../../scripts/processes.ts'
import { NODE, ROOT } from '../node.ts'
import { startProgram } from '../program.ts'
import { makeMemoryFolder } from '../temporary-folder.ts'
import { type LogLine, PATIENT_UPSTREAM, parseLine, readTunnel, settingsOf } from './running.ts'

export type TunnelOptions = {
  /** Settings that add to the default ones of the tests (`HOST`, the ports, `ADMIN_TOKEN`, files in a temporary folder), or replace them. */
  env?: Record<string, string>
  /** Rerouted connections, `{ 'o1.ingest.us.sentry.io:443': '127.0.0.1:41234' }`. */
  reroute?: Record<string, string>
  /** Time in milliseconds within which it has to listen. */
  timeout?: number
}

export type Tunnel = Awaited<ReturnType<typeof startTunnel>>

const CERTIFICATE = resolve(ROOT, 'tests/fixtures/tls/cert.pem')
const PRELOAD = new URL('./reroute-preload.ts', import.meta.url).href

/** Starts the tunnel and waits until it listens. Rejects with its output when it exits before. `await using` stops it. */
export async function startTunnel({ env, reroute, timeout = 90_000 }: TunnelOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeMemoryFolder())
  const settings = settingsOf(folder.path, env)
  const program = startProgram(
    'The tunnel',
    NODE,
    [TUNNEL_GC, ...(reroute ? ['--import', PRELOAD] : []), 'tunnel/src/main.ts'],
    {
      ...(reroute && { TEST_REROUTE: JSON.stringify(reroute), NODE_EXTRA_CA_CERTS: CERTIFICATE }),
      ...PATIENT_UPSTREAM,
      ...settings,
    },
  )

  starting.defer(program.kill)

  async function log(wanted: (line: LogLine) => boolean, wait = 90_000): Promise<LogLine> {
    return parseLine(await program.line((line) => wanted(parseLine(line)), wait))
  }

  const { port, adminPort } = await log(({ msg }) => msg === 'listening', timeout)
  const started = starting.move()

  async function stop(): Promise<void> {
    await program.stop().finally(() => started.disposeAsync())
  }

  const { ADMIN_TOKEN: token } = settings
  const running = {
    port: Number(port),
    adminPort: Number(adminPort),
    token,
    get logs() {
      return program.stdout.map(parseLine)
    },
    log,
  }
  return Object.assign(readTunnel(running), {
    pid: program.pid,
    stderr: program.stderr,
    exited: program.exited,
    /** Sends SIGTERM; rejects when the exit code is not 0. */
    stop,
    /** Sends SIGKILL. */
    kill: () => started.disposeAsync(),
    [Symbol.asyncDispose]: stop,
  })
}
