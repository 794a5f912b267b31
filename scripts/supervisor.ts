/** Runs processes in groups of their own, restarts them when they end, and leaves nothing behind when they are stopped. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from 'contract/settings'
import { UserError } from './environment.ts'
import type { Output, Stream } from './output.ts'
import { keepTail } from './progress.mjs'

export type Program = { command: string[]; cwd: string; env: Environment }

/** Program that is restarted whenever it ends. */
export type Service = Program & {
  name: string
  isReady: () => Promise<boolean>
  /** Asks the process to finish its pending work and exit. */
  stopSignal: NodeJS.Signals
}

export type Supervised = {
  /** Settles when the service is ready for the first time; rejects with a `UserError` if it ends before that, or is too slow. */
  ready: Promise<void>
  /** Ends the service, by SIGKILL after `graceMs`, and does not restart it. */
  stop: (graceMs: number) => Promise<void>
}

export type Clock = {
  now: () => number
  /** Resolves early when the signal aborts; never rejects. */
  wait: (ms: number, signal?: AbortSignal) => Promise<void>
}

const FIRST_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 10_000
const STEADY_MS = 60_000 // a run of that length resets the backoff
const START_TIMEOUT_MS = 60_000
const POLL_MS = 50

const wallClock: Clock = {
  now: () => performance.now(),
  wait: (ms, signal) => sleep(Math.max(0, ms), undefined, signal && { signal }).catch(() => {}),
}

/** Waits for `event`, but no longer than `ms`. Rejects when `event` does. */
export async function within(ms: number, event: Promise<unknown>): Promise<void> {
  const isOver = new AbortController()
  try {
    await Promise.race([event, wallClock.wait(ms, isOver.signal)])
  } finally {
    isOver.abort()
  }
}

/**
 * Returns the beginning of a command that ends with this process, even when this process is killed: with `setpriv` of
 * util-linux, Linux then sends it a signal (prctl, PR_SET_PDEATHSIG). Empty if `setpriv` is missing.
 */
export function parentDeathPrefix(): string[] {
  const [program, ...args] = ['setpriv', '--pdeathsig', 'TERM'] as const
  return spawnSync(program, [...args, 'true'], { stdio: 'ignore' }).status === 0 ? [program, ...args] : []
}

/** One run of a program, in a process group of its own. */
export class ProcessRun {
  /** Resolves to how the run ended, in words, when its output is closed and its group has been killed. Never rejects. */
  readonly ended: Promise<string>
  readonly #child
  readonly #tail = keepTail()
  #isRunning = true

  constructor({ command, cwd, env }: Program, onLine: (line: string, stream: Stream) => void) {
    const [program = '', ...args] = command
    this.#child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    for (const stream of ['stdout', 'stderr'] as const)
      createInterface(this.#child[stream]).on('line', (line) => {
        this.#tail.add(`${line}\n`)
        onLine(line, stream)
      })
    this.#child.on('exit', () => this.#killGroup())
    this.ended = this.#waitForEnd()
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Last lines of the output. */
  get tail(): string {
    return this.#tail.text()
  }

  /** Sends `signal`, and SIGKILL to the whole group after `graceMs`. */
  async end(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    if (!this.#isRunning) return
    this.#child.kill(signal)
    await within(graceMs, this.ended)
    if (this.#isRunning) this.#killGroup()
    await this.ended
  }

  async #waitForEnd(): Promise<string> {
    try {
      const [code, signal] = await once(this.#child, 'close')
      return signal ? `killed by ${signal}` : `exit code ${code}`
    } catch (error) {
      return `cannot be started: ${(error as Error).message}`
    } finally {
      this.#isRunning = false
    }
  }

  #killGroup(): void {
    if (this.#child.pid === undefined) return
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {} // the whole group has ended
  }
}

/** Returns the backoff before the next start. `lastMs` is the previous backoff, `ranMs` the duration of the run. */
export function nextBackoff(lastMs: number, ranMs: number): number {
  return lastMs === 0 || ranMs >= STEADY_MS ? FIRST_BACKOFF_MS : Math.min(lastMs * 2, MAX_BACKOFF_MS)
}

/** Starts a service, and once it has been ready restarts it whenever it ends, until it or the whole site is stopped. */
export function supervise(
  service: Service,
  output: Pick<Output, 'print' | 'log'>,
  stopped: AbortSignal,
  clock: Clock = wallClock,
): Supervised {
  const stopping = new AbortController()
  const over = AbortSignal.any([stopping.signal, stopped])
  const start = () => new ProcessRun(service, (line, stream) => output.log(service.name, line, stream))
  let run = start()
  const ready = waitUntilReady(service, run)
  const supervision = ready.then(restart, () => {})

  async function restart(): Promise<void> {
    for (let backoff = 0, began = clock.now(); ; began = clock.now()) {
      const end = await run.ended
      if (over.aborted) return
      backoff = nextBackoff(backoff, clock.now() - began)
      output.print(`${service.name} ended (${end}) and is started again in ${backoff / 1000} s.`)
      await clock.wait(backoff, over)
      if (over.aborted) return
      run = start()
    }
  }

  async function stop(graceMs: number): Promise<void> {
    stopping.abort()
    await run.end(service.stopSignal, graceMs)
    await supervision
  }

  return { ready, stop }
}

async function waitUntilReady({ name, isReady }: Service, run: ProcessRun): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (!(await isReady())) {
    if (!run.isRunning) throw new UserError(`${name} did not start (${await run.ended}).`, run.tail)
    if (performance.now() > deadline)
      throw new UserError(`${name} did not answer within ${START_TIMEOUT_MS / 1000} s.`, run.tail)
    await sleep(POLL_MS)
  }
}
