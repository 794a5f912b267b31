/** Process that a test started: its output is kept, and it ends with the test. */

import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { ENVIRONMENT, ROOT } from './node.ts'

/** Time to end after SIGTERM. Vitest has no limit for the end of a fixture. */
const STOPS_WITHIN_MS = 60_000

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type Program = {
  pid: number | undefined
  /** Lines written to stdout, and those to stderr. */
  stdout: string[]
  stderr: string[]
  exited: Promise<Exit>
  /** Resolves with the first line of stdout, past or future, that `wanted` accepts. Rejects after `timeout` ms, or when the process ends. */
  line(wanted: (line: string) => boolean, timeout: number): Promise<string>
  /** Sends SIGTERM, and SIGKILL after a minute. Rejects when the exit code is not 0. Does nothing when the process has ended. */
  stop(): Promise<void>
  /** Sends SIGKILL. */
  kill(): Promise<void>
}

/** Starts `file` at the root of the repository, with `env` added to its environment. */
export function startProgram(
  name: string,
  file: string,
  args: string[],
  env: Record<string, string>,
): Program {
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stdout: string[] = []
  const stderr: string[] = []
  const news = new EventEmitter<{ change: [] }>()
  let exit: Exit | undefined
  let dismissed = false

  gather(child.stdout, stdout, news)
  gather(child.stderr, stderr, news)
  // `close` follows the last output, `exit` may precede it.
  const exited = once(child, 'close').then(([code, signal]): Exit => {
    exit = { code, signal }
    news.emit('change')
    return exit
  })

  const words = () => [...stdout, ...stderr].join('\n')

  async function line(wanted: (line: string) => boolean, timeout: number): Promise<string> {
    const signal = AbortSignal.timeout(timeout)
    for (;;) {
      const found = stdout.find(wanted)
      if (found !== undefined) return found
      if (exit) throw new Error(`${name} ended with ${exit.signal ?? exit.code}:\n${words()}`)
      await once(news, 'change', { signal }).catch(() => {
        throw new Error(`${name} wrote no such line within ${timeout} ms:\n${words()}`)
      })
    }
  }

  async function stop(): Promise<void> {
    if (dismissed) return
    dismissed = true
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS)
    const { code, signal } = await exited.finally(() => clearTimeout(timer))
    if (code !== 0) throw new Error(`${name} ended with ${signal ?? code}, not with 0:\n${words()}`)
  }

  async function kill(): Promise<void> {
    dismissed = true
    child.kill('SIGKILL')
    await exited
  }

  return { pid: child.pid, stdout, stderr, exited, line, stop, kill }
}

function gather(stream: Readable, lines: string[], news: EventEmitter<{ change: [] }>): void {
  createInterface(stream).on('line', (line) => {
    lines.push(line)
    news.emit('change')
  })
}
