/** A server under test: a process on a core of its own. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { makeFolder } from '../helpers/folder.ts'
import { NODE, ROOT } from '../helpers/node.ts'
import { freePort } from '../helpers/ports.ts'
import type { Cores } from './cores.ts'
import { countLog } from './log-count.ts'
import { readReceipts, readTotal } from './tunnel-counts.ts'

export type Server = {
  pid: number
  port: number
  /** Envelopes that its own books say it has carried; none where it keeps no books. */
  counts(): Promise<Record<string, number>>
  [Symbol.asyncDispose](): Promise<void>
}

export type ServerStart = (cores: Cores, dsns: readonly string[]) => Promise<Server>

export const TUNNEL = join(ROOT, 'tunnel/src/main.ts')
const START_MS = 20 * 1000 // 20 s
const STOP_MS = 20 * 1000

/** Sentry's own handler on Hono. */
export const startHandler: ServerStart = (cores, dsns) => startPeer('handle-tunnel-request', cores, dsns)

/** The floor. */
export const startBare: ServerStart = (cores, dsns) => startPeer('bare', cores, dsns.slice(0, 1))

async function startPeer(name: string, cores: Cores, dsns: readonly string[]): Promise<Server> {
  const port = await freePort()
  const file = join(import.meta.dirname, 'servers', `${name}.ts`)
  const process = await startProcess([...cores.server, NODE, file, String(port), ...dsns], {}, ROOT)
  return { ...process, port, counts: async () => ({}) }
}

/** Culvert's tunnel as shipped: its defaults, in an empty folder, with its log read from a pipe. */
export const startCulvert: ServerStart = async (cores, dsns) => {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const [port, adminPort, token] = [await freePort(), await freePort(), 'token-of-the-benchmark']
  const env = {
    SENTRY_DSN: dsns.join(' '),
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    ADMIN_TOKEN: token,
  }
  const process = starting.use(await startProcess([...cores.server, NODE, TUNNEL], env, folder.path))
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const started = starting.move()
  return {
    pid: process.pid,
    port,
    counts: async () => ({
      'log lines': process.logLines(),
      culvert_envelopes_total: await readTotal(adminUrl),
      receipts: await readReceipts(adminUrl, token, process.replica()),
    }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Resolves when it says that it listens. */
async function startProcess([program = '', ...args]: string[], env: Record<string, string>, cwd: string) {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const log = countLog()
  child.stdout.on('data', log.take)
  const greeting = await hearListening(child).catch(async (error) => {
    await stop(child)
    throw error
  })
  return {
    pid: child.pid ?? 0,
    logLines: log.lines,
    replica: () => /"replica":"([^"]+)"/.exec(greeting)?.[1] ?? '',
    [Symbol.asyncDispose]: () => stop(child),
  }
}

type Child = ChildProcessByStdio<null, Readable, null>

async function hearListening(child: Child): Promise<string> {
  const signal = AbortSignal.timeout(START_MS)
  const ended = once(child, 'exit', { signal }).then(() => undefined)
  ended.catch(() => {}) // it runs on: that is what is hoped for
  for (;;) {
    const heard = await Promise.race([once(child.stdout, 'data', { signal }), ended])
    if (!heard) throw new Error(`a server ended with ${child.exitCode} before it listened`)
    if (String(heard[0]).includes('listening')) return String(heard[0])
  }
}

async function stop(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const patience = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(patience)
}
