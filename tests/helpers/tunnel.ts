/** The real tunnel, as a process of its own. */

import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { NODE, ROOT } from './node.ts'
import { freePort } from './ports.ts'

export type LogLine = { msg?: string; [field: string]: unknown }

export type TunnelOptions = {
  /** Settings beside the ones made here (`HOST`, `PORT`, `ADMIN_PORT`, `ADMIN_TOKEN`, `INBOX_FILE`), or in their place. */
  env?: Record<string, string>
  /** Connections that go elsewhere, `{ 'o1.ingest.us.sentry.io:443': '127.0.0.1:41234' }`. */
  reroute?: Record<string, string>
  /** How long it may take to listen, in ms. */
  timeout?: number
}

export type Tunnel = Awaited<ReturnType<typeof startTunnel>>

const TOKEN = 'token-of-the-tests'
const CERTIFICATE = resolve(ROOT, 'tests/fixtures/tls/cert.pem')
const PRELOAD = new URL('./reroute.ts', import.meta.url).href

/** Starts it and waits until it listens. Rejects with what it wrote when it ends before that. `await using` stops it. */
export async function startTunnel({ env = {}, reroute, timeout = 10_000 }: TunnelOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'culvert-tunnel-'))
  const settings = {
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    ADMIN_TOKEN: TOKEN,
    INBOX_FILE: join(folder, 'inbox.db'),
    ...env,
  }
  const child = spawn(NODE, [...(reroute ? ['--import', PRELOAD] : []), 'tunnel/src/main.ts'], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      ...(reroute && { TEST_REROUTE: JSON.stringify(reroute), NODE_EXTRA_CA_CERTS: CERTIFICATE }),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child)
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as Exit)

  async function end(signal: NodeJS.Signals): Promise<Exit> {
    child.kill(signal)
    const exit = await exited
    await rm(folder, { recursive: true, force: true })
    return exit
  }

  /** SIGTERM; rejects when it does not leave with 0. */
  async function stop(): Promise<void> {
    const exit = await end('SIGTERM')
    if (exit.code !== 0)
      throw new Error(`The tunnel ended with ${exit.signal ?? exit.code}, not with 0:\n${output.text()}`)
  }

  const listening = output.line(({ msg }) => msg === 'listening', timeout)
  const early = exited.then((exit) => {
    throw new Error(`The tunnel ended with ${exit.signal ?? exit.code} before it listened:\n${output.text()}`)
  })
  await Promise.race([listening, early]).catch(async (error) => {
    await end('SIGKILL')
    throw error
  })

  let ended = false
  return {
    pid: child.pid,
    port: Number(settings.PORT),
    url: `http://127.0.0.1:${settings.PORT}`,
    adminUrl: `http://127.0.0.1:${settings.ADMIN_PORT}`,
    token: settings.ADMIN_TOKEN,
    /** Log lines so far, parsed. */
    logs: output.lines,
    stderr: output.stderr,
    /** The first log line, past or to come, that `wanted` accepts. */
    log: (wanted: (line: LogLine) => boolean, wait = 5000) => output.line(wanted, wait),
    /** Asks its admin port, with the token. */
    admin: (path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${settings.ADMIN_PORT}${path}`, {
        headers: { authorization: `Bearer ${settings.ADMIN_TOKEN}` },
        ...init,
      }),
    exited,
    async stop(): Promise<void> {
      ended = true
      await stop()
    },
    /** SIGKILL: it gets no chance to tidy up. */
    async kill(): Promise<void> {
      ended = true
      await end('SIGKILL')
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (!ended) await stop()
    },
  }
}

type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** Gathers what a process writes: JSON lines on stdout, words on stderr. */
function collect(child: ChildProcess) {
  const lines: LogLine[] = []
  const stderr: string[] = []
  const news = new EventEmitter<{ line: [] }>()
  if (child.stderr) createInterface(child.stderr).on('line', (line) => stderr.push(line))
  if (child.stdout)
    createInterface(child.stdout).on('line', (text) => {
      lines.push(parseLine(text))
      news.emit('line')
    })

  async function line(wanted: (line: LogLine) => boolean, timeout: number): Promise<LogLine> {
    const signal = AbortSignal.timeout(timeout)
    for (;;) {
      const found = lines.find(wanted)
      if (found) return found
      await once(news, 'line', { signal }).catch(() => {
        throw new Error(`No such log line within ${timeout} ms:\n${text()}`)
      })
    }
  }

  const text = () => [...lines.map((each) => JSON.stringify(each)), ...stderr].join('\n')
  return { lines, stderr, line, text }
}

function parseLine(text: string): LogLine {
  try {
    return JSON.parse(text)
  } catch {
    return { msg: text } // an unstructured line is still worth seeing
  }
}
