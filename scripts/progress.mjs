/** Runs a slow command: shows how long it has been at it, and what it said only when it fails. */

import { spawn } from 'node:child_process'

const LINES_KEPT = 60
const HEARTBEAT = 15 * 1000 // 15 s: how often a log that is no terminal is told

/** A command that failed; `output` holds the last lines it said. */
export class StepFailed extends Error {
  /** @param {string} message @param {string} output */
  constructor(message, output) {
    super(message)
    this.output = output
  }
}

/**
 * Runs `command` as the step `title`. It gets a process group of its own, which ends whole when `signal` aborts.
 * @param {string} title
 * @param {string[]} command
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, signal?: AbortSignal }} [options]
 * @returns {Promise<void>} rejects with `StepFailed`
 */
export function runStep(title, [program = '', ...args], { signal, ...options } = {}) {
  const progress = showProgress(title)
  const tail = keepTail()
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  child.stdout.on('data', tail.add)
  child.stderr.on('data', tail.add)
  const stop = () => killGroup(child.pid)
  signal?.addEventListener('abort', stop)
  return new Promise((resolve, reject) => {
    const settle = (/** @type {string | undefined} */ problem) => {
      signal?.removeEventListener('abort', stop)
      progress.end(signal?.aborted ? 'stopped' : problem === undefined ? 'done' : 'failed')
      if (problem === undefined) resolve()
      else reject(new StepFailed(`${title} failed (${problem}).`, tail.text()))
    }
    child.on('error', (error) => settle(error.message))
    child.on('close', (code, killedBy) => settle(code === 0 ? undefined : describeEnd(code, killedBy)))
    if (signal?.aborted) stop()
  })
}

/**
 * Says that the step `title` goes on: on a terminal by the second on one line, elsewhere now and then.
 * @param {string} title
 */
export function showProgress(title) {
  const began = performance.now()
  const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`
  const terminal = process.stdout.isTTY
  let detail = ''
  const tell = () =>
    process.stdout.write(
      terminal ? `\r\x1b[K${title} … ${seconds()}${detail}` : `${title} … ${seconds()}${detail}\n`,
    )
  process.stdout.write(terminal ? `${title} …` : `${title} …\n`)
  const timer = setInterval(tell, terminal ? 1000 : HEARTBEAT)
  return {
    /** @param {string} text what it is at just now */
    at(text) {
      detail = text && `  ${text.slice(0, 60)}`
    },
    /** @param {'done' | 'failed' | 'stopped'} result */
    end(result) {
      clearInterval(timer)
      process.stdout.write(`${terminal ? '\r\x1b[K' : ''}${title}: ${result} in ${seconds()}\n`)
    },
  }
}

/** The last lines of an output, which may come in pieces. */
export function keepTail() {
  let held = ''
  return {
    /** @param {Buffer | string} piece */
    add(piece) {
      held = (held + piece)
        .split('\n')
        .slice(-LINES_KEPT - 1)
        .join('\n')
    },
    text: () => held.trim(),
  }
}

/** @param {number | undefined} pid leader of the group */
function killGroup(pid) {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGTERM')
  } catch {} // it is gone already
}

/** @param {number | null} code @param {string | null} signal */
function describeEnd(code, signal) {
  return signal ? `ended by ${signal}` : `exit code ${code}`
}
