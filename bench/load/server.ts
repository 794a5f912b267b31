/** Starts a server under test on its own core. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { CERTIFICATE } from './certificate.ts'
import type { Cores } from './cores.ts'
import { countLog } from './log-count.ts'

export type Server = {
  /** Ids of all its processes. */
  pids(): readonly number[]
  port: number
  /** Returns the number of envelopes that the server counted; empty where it does not count. */
  counts(): Promise<Record<string, number>>
  [Symbol.asyncDispose](): Promise<void>
}

export type ServerStart = (cores: Cores, dsns: readonly string[]) => Promise<Server>

export const noCounts = async () => ({})

type Launch = {
  command: readonly string[]
  cwd: string
  env?: Record<string, string>
  /** Output that shows that the server listens. */
  greeting: RegExp
}

type Child = ChildProcessByStdio<null, Readable, null>

const START_MS = 20 * 1000 // 20 s
const STOP_MS = 20 * 1000

/** Resolves when the server listens. `await using` stops it. */
export async function startProcess(cores: Cores, { command, cwd, env, greeting }: Launch) {
  const [program = '', ...args] = [...cores.server, ...command]
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: CERTIFICATE, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const log = countLog()
  child.stdout.on('data', log.take)
  const output = await readUntil(child, greeting).catch(async (error) => {
    await stop(child)
    throw error
  })
  return {
    pid: child.pid ?? 0,
    /** Reads the output up to the line that shows that the server listens. */
    output,
    logLines: log.lines,
    [Symbol.asyncDispose]: () => stop(child),
  }
}

async function readUntil(child: Child, greeting: RegExp): Promise<string> {
  const signal = AbortSignal.timeout(START_MS)
  const ended = once(child, 'exit', { signal }).then(() => undefined)
  ended.catch(() => {}) // an early exit rejects elsewhere
  let output = ''
  for (;;) {
    const chunk = await Promise.race([once(child.stdout, 'data', { signal }), ended])
    if (!chunk) throw new Error(`a server ended with ${child.exitCode} before it listened`)
    output += String(chunk[0])
    if (greeting.test(output)) return output
  }
}

async function stop(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const watchdog = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(watchdog)
}
