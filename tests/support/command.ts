/** Commands as a person runs them at a terminal, and their processes. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export type Command = ReturnType<typeof runCommand>

const LOOK_AGAIN = 50 // ms
const PATIENCE = 300 * 1000 // 5 min: the command may build web, and images, on a busy machine

/** Runs a command in `cwd` with `env` and little else, in a process group of its own, as shells do. */
export function runCommand(cwd: string, [program = '', ...args]: string[], env: Record<string, string> = {}) {
  const inherited = { PATH: process.env.PATH, HOME: process.env.HOME }
  const child = spawn(program, args, {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const pid = child.pid ?? 0
  const said: string[] = []
  child.stdout.on('data', (piece) => said.push(String(piece)))
  child.stderr.on('data', (piece) => said.push(String(piece)))
  const output = () => said.join('')
  const exited: Promise<number | null> = once(child, 'close').then(([code]) => code)
  const isOver = () => child.exitCode !== null || child.signalCode !== null

  /** Resolves when its output contains `words`; rejects when it ends without them, or takes too long. */
  async function says(words: string | RegExp): Promise<void> {
    await until(() => output().match(words) !== null || isOver(), `"${words}"`)
    if (!output().match(words)) throw new Error(`It ended without saying ${words}:\n${output()}`)
  }

  async function end(): Promise<void> {
    if (!isOver()) process.kill(-pid, 'SIGTERM')
    await exited
  }

  /** Sends SIGINT to the foreground process group, as Ctrl-C does. */
  const interrupt = () => process.kill(-pid, 'SIGINT')
  return { pid, exited, output, says, interrupt, [Symbol.asyncDispose]: end }
}

/** Waits until a condition holds. */
export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`Not within ${PATIENCE / 1000} s: ${what}.`)
    await sleep(LOOK_AGAIN)
  }
}

export type Process = { pid: number; parent: number; command: string }

/** Returns the processes whose working directory is `folder` or below it (Linux). */
export function processesIn(folder: string): Process[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => (isIn(folder, pid) ? (readProcess(pid) ?? []) : []))
}

function isIn(folder: string, pid: string): boolean {
  try {
    return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`)
  } catch {
    return false // it has ended, or belongs to another user
  }
}

function readProcess(pid: string): Process | undefined {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return { pid: Number(pid), parent: Number(parent), command }
  } catch {
    return undefined
  }
}
