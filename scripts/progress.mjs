/** Runs slow steps: shows their progress and their output when they fail, and keeps a step from running twice at once. */

import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const LINES_KEPT = 60
const HEARTBEAT_MS = 15_000 // between lines of progress where the output is no terminal
const LOCK_POLL_MS = 200

/** Error of a command that failed; `output` holds the last lines it wrote. */
export class StepFailed extends Error {
  /** @param {string} message @param {string} output */
  constructor(message, output) {
    super(message)
    this.output = output
  }
}

/**
 * Runs `command` as the step `title`, in a process group of its own, which is ended when `signal` aborts.
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
  const stop = () => killGroup(child.pid, 'SIGTERM')
  signal?.addEventListener('abort', stop)
  child.on('exit', () => signal?.aborted && killGroup(child.pid, 'SIGKILL')) // what ignores SIGTERM, or is slow
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
 * Shows that the step `title` goes on: on a terminal one line updated every second, elsewhere a line now and then.
 * @param {string} title
 */
export function showProgress(title) {
  const began = performance.now()
  const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`
  const isTerminal = process.stdout.isTTY
  let detail = ''
  const update = () => {
    const text = `${title} … ${seconds()}${detail}`
    process.stdout.write(isTerminal ? `\r\x1b[K${text}` : `${text}\n`)
  }
  process.stdout.write(isTerminal ? `${title} …` : `${title} …\n`)
  const timer = setInterval(update, isTerminal ? 1000 : HEARTBEAT_MS)
  return {
    /** @param {string} text the current part of the step */
    setDetail(text) {
      detail = text && `  ${text.slice(0, 60)}`
    },
    /** @param {'done' | 'failed' | 'stopped'} result */
    end(result) {
      clearInterval(timer)
      process.stdout.write(`${isTerminal ? '\r\x1b[K' : ''}${title}: ${result} in ${seconds()}\n`)
    },
  }
}

/** Keeps the last lines of an output that comes in pieces. */
export function keepTail() {
  let kept = ''
  return {
    /** @param {Buffer | string} piece */
    add(piece) {
      kept = (kept + piece)
        .split('\n')
        .slice(-LINES_KEPT - 1)
        .join('\n')
    },
    text: () => kept.trim(),
  }
}

/**
 * Runs `work` while holding the lock `file`, which names the process that holds it. Waits while another process holds
 * it, and takes over the lock of a process that died.
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {(pid: number) => void} onWait called once, when another process holds the lock
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait) {
  mkdirSync(dirname(file), { recursive: true })
  for (let waits = 0; !takeLock(file); waits++) {
    const holder = readHolder(file)
    if (holder === undefined) continue
    if (!isAlive(holder)) rmSync(file, { force: true })
    else {
      if (waits === 0) onWait(holder)
      await sleep(LOCK_POLL_MS)
    }
  }
  const release = () => rmSync(file, { force: true })
  process.on('exit', release)
  try {
    return await work()
  } finally {
    process.off('exit', release)
    release()
  }
}

/** @param {string} file */
function takeLock(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/** @param {string} file @returns {number | undefined} `undefined` when the lock was released just now */
function readHolder(file) {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

/** @param {number | undefined} pid leader of the group @param {NodeJS.Signals} signal */
function killGroup(pid, signal) {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {} // it has ended already
}

/** @param {number | null} code @param {string | null} signal */
function describeEnd(code, signal) {
  return signal ? `ended by ${signal}` : `exit code ${code}`
}
