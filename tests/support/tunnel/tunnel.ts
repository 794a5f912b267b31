/** The real tunnel, as a process of its own. */

import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Receipt } from '../../../tunnel/src/contract.ts'
import { NODE, ROOT } from '../node.ts'
import { freePort } from '../ports.ts'
import { startProgram } from '../program.ts'
import { makeFolder } from '../temporary-folder.ts'

export type LogLine = { msg?: string; receipt?: Receipt; [field: string]: unknown }

export type TunnelOptions = {
  /** Settings beside the ones made here (`HOST`, the ports, `ADMIN_TOKEN`, files in a folder of its own), or in their place. */
  env?: Record<string, string>
  /** Connections that go elsewhere, `{ 'o1.ingest.us.sentry.io:443': '127.0.0.1:41234' }`. */
  reroute?: Record<string, string>
  /** How long it may take to listen, in ms. */
  timeout?: number
}

export type Tunnel = Awaited<ReturnType<typeof startTunnel>>

/** Of the admin ports, unless a test sets another. */
export const TOKEN = 'token-of-the-tests'
const CERTIFICATE = resolve(ROOT, 'tests/fixtures/tls/cert.pem')
const PRELOAD = new URL('./reroute-preload.ts', import.meta.url).href

/** Starts it and waits until it listens. Rejects with what it wrote when it ends before that. `await using` stops it. */
export async function startTunnel({ env, reroute, timeout = 30_000 }: TunnelOptions = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const settings = {
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    ADMIN_TOKEN: TOKEN,
    INBOX_FILE: join(folder.path, 'inbox.db'),
    BODY_DIR: join(folder.path, 'bodies'),
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    ...env,
  }
  const adminUrl = `http://127.0.0.1:${settings.ADMIN_PORT}`
  const program = startProgram(
    'The tunnel',
    NODE,
    [...(reroute ? ['--import', PRELOAD] : []), 'tunnel/src/main.ts'],
    {
      ...(reroute && { TEST_REROUTE: JSON.stringify(reroute), NODE_EXTRA_CA_CERTS: CERTIFICATE }),
      ...settings,
    },
  )

  starting.defer(program.kill)

  async function log(wanted: (line: LogLine) => boolean, wait = 30_000): Promise<LogLine> {
    return parseLine(await program.line((line) => wanted(parseLine(line)), wait))
  }

  await log(({ msg }) => msg === 'listening', timeout)
  const started = starting.move()

  async function stop(): Promise<void> {
    await program.stop().finally(() => started.disposeAsync())
  }

  return {
    pid: program.pid,
    port: Number(settings.PORT),
    url: `http://127.0.0.1:${settings.PORT}`,
    adminUrl,
    token: settings.ADMIN_TOKEN,
    /** Log lines so far. */
    get logs(): LogLine[] {
      return program.stdout.map(parseLine)
    },
    stderr: program.stderr,
    /** The first log line, past or to come, that `wanted` accepts. */
    log,
    /** Receipts logged so far. */
    get receipts(): Receipt[] {
      return program.stdout.flatMap((line) => parseLine(line).receipt ?? [])
    },
    /** The first one logged, now or later, that `wanted` accepts. */
    async receipt(wanted: (receipt: Receipt) => boolean): Promise<Receipt> {
      const line = await log(({ receipt }) => receipt !== undefined && wanted(receipt))
      return line.receipt as Receipt
    },
    /** Asks its admin port, with the token. */
    admin: (path: string, init?: RequestInit) =>
      fetch(`${adminUrl}${path}`, { headers: { authorization: `Bearer ${settings.ADMIN_TOKEN}` }, ...init }),
    exited: program.exited,
    /** SIGTERM; rejects when it does not leave with 0. */
    stop,
    /** SIGKILL: it gets no chance to tidy up. */
    kill: () => started.disposeAsync(),
    [Symbol.asyncDispose]: stop,
  }
}

/** A line that is no JSON is worth seeing too. */
function parseLine(text: string): LogLine {
  try {
    return JSON.parse(text)
  } catch {
    return { msg: text }
  }
}
