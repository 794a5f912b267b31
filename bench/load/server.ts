/** A server under test: processes on a core of their own. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { Cores } from './cores.ts'
import { countLog } from './log-count.ts'

export type Server = {
  /** All of its processes. */
  pids(): readonly number[]
  port: number
  /** Envelopes that its own books say it has carried; none where it keeps no books. */
  counts(): Promise<Record<string, number>>
  [Symbol.asyncDispose](): Promise<void>
}

export type ServerStart = (cores: Cores, dsns: readonly string[]) => Promise<Server>

export const noBooks = async () => ({})

type Launch = {
  command: readonly string[]
  cwd: string
  env?: Record<string, string>
  /** What it says once it listens. */
  greeting: RegExp
}

type Child = ChildProcessByStdio<null, Readable, null>

const START_MS = 20 * 1000 // 20 s
const STOP_MS = 20 * 1000

/** Resolves when it listens. `await using` ends it. */
export async function startProcess(cores: Cores, { command, cwd, env, greeting }: Launch) {
  const [program = '', ...args] = [...cores.server, ...command]
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const log = countLog()
  child.stdout.on('data', log.take)
  const said = await hear(child, greeting).catch(async (error) => {
    await stop(child)
    throw error
  })
  return {
    pid: child.pid ?? 0,
    /** Up to the piece in which it greeted. */
    said,
    logLines: log.lines,
    [Symbol.asyncDispose]: () => stop(child),
  }
}

async function hear(child: Child, greeting: RegExp): Promise<string> {
  const signal = AbortSignal.timeout(START_MS)
  const ended = once(child, 'exit', { signal }).then(() => undefined)
  ended.catch(() => {}) // it runs on: that is what is hoped for
  let said = ''
  for (;;) {
    const heard = await Promise.race([once(child.stdout, 'data', { signal }), ended])
    if (!heard) throw new Error(`a server ended with ${child.exitCode} before it listened`)
    said += String(heard[0])
    if (greeting.test(said)) return said
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
