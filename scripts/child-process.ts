/** One run of a program, in a process group of its own, so that nothing it starts outlives it. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Environment } from '../tunnel/src/config/settings.ts'
import { type Clock, within } from './clock.ts'
import { keepTail } from './progress.mjs'

export type Program = { command: string[]; cwd: string; env: Environment }

export type Stream = 'stdout' | 'stderr'

export type Run = {
  pid: number | undefined
  /** How it ended, in words; settles when all it said has been heard and its whole group is gone. Never rejects. */
  ended: Promise<string>
  /** Whether it has ended, and well. */
  state: () => 'running' | 'done' | 'failed'
  /** The last lines it said. */
  tail: () => string
  /** Sends `signal`, and SIGKILL to its whole group when it is still there after `grace` ms. */
  end: (signal: NodeJS.Signals, grace: number) => Promise<void>
}

/** Starts it. `hear` is told every line. */
export function startRun(
  { command, cwd, env }: Program,
  clock: Clock,
  hear: (line: string, stream: Stream) => void,
): Run {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const kept = keepTail()
  const listen = (stream: Stream) =>
    createInterface(child[stream]).on('line', (line) => {
      kept.add(`${line}\n`)
      hear(line, stream)
    })
  listen('stdout')
  listen('stderr')

  let state: ReturnType<Run['state']> = 'running'
  child.on('exit', () => signalGroup(child.pid, 'SIGKILL'))
  const ended = once(child, 'close').then(
    ([code, signal]) => {
      state = code === 0 ? 'done' : 'failed'
      return signal ? `killed by ${signal}` : `exit code ${code}`
    },
    (error: Error) => {
      state = 'failed'
      return `cannot be started: ${error.message}`
    },
  )

  async function end(signal: NodeJS.Signals, grace: number): Promise<void> {
    if (state !== 'running') return
    child.kill(signal)
    await within(grace, ended, clock)
    if (state === 'running') signalGroup(child.pid, 'SIGKILL')
    await ended
  }

  return { pid: child.pid, ended, state: () => state, tail: kept.text, end }
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, signal)
  } catch {} // nobody of it is left
}
