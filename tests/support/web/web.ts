/** The built web server as a process of its own. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildWeb, WEB_SERVER } from '../../../scripts/build-web.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { NODE, ROOT } from '../node.ts'

const STARTS_WITHIN = 90_000 // ms: the machine may be busy
const STOPS_WITHIN = 60_000 // ms: vitest has no limit for the end of a fixture

const COMPILED = resolve(ROOT, '.culvert/compiled-web')

const KEEP_ALIVE_TIMEOUT = '60000' // ms: longer than the keep-alive of the test's connections

/** `NODE_OPTIONS` for a server that fails to answer `?break`. */
export const BREAKABLE = `--import=${new URL('./fault-preload.ts', import.meta.url).href}`

export type Web = Awaited<ReturnType<typeof startWeb>>

/** Starts web, built first if needed, and waits until it responds. Rejects with its output when it exits before. */
export async function startWeb(env: Record<string, string> = {}) {
  await buildWeb(ROOT, process.env)
  const port = await freePort()
  const web = run({ HOSTNAME: '127.0.0.1', PORT: String(port), KEEP_ALIVE_TIMEOUT, ...env })
  const url = `http://127.0.0.1:${port}`
  await answers(`${url}/healthz`, web.child)
  if (web.child.exitCode !== null)
    throw new Error(`web ended with ${web.child.exitCode} before it answered:\n${web.said.stderr}`)
  return {
    url,
    port,
    pid: web.child.pid,
    /** Output so far. */
    said: web.said,
    exited: web.exited,
    /** Stops web, and returns its exit code and signal. */
    stop: web.stop,
    [Symbol.asyncDispose]: async () => void (await web.stop()),
  }
}

/** Runs web with invalid settings, and returns its exit code and output. */
export async function refuseWeb(env: Record<string, string>): Promise<Exit> {
  await buildWeb(ROOT, process.env)
  const web = run({ HOSTNAME: '127.0.0.1', PORT: String(await freePort()), ...env })
  const late = sleep(STARTS_WITHIN, undefined, { ref: false }).then(() => web.stop())
  return Promise.race([web.exited, late])
}

export type Exit = { code: number | null; stdout: string; stderr: string }

function run(env: Record<string, string>) {
  const child = spawn(NODE, [resolve(ROOT, WEB_SERVER)], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, ...env }, // saves a fifth of the start
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.stderr += text
  })
  const exited: Promise<Exit> = once(child, 'close').then(([code]) => ({ code, ...said }))
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN)
    return exited.finally(() => clearTimeout(timer))
  }
  return { child, said, exited, stop }
}

/** Resolves when `url` responds, or `child` has exited. */
async function answers(url: string, child: ChildProcess): Promise<void> {
  const deadline = AbortSignal.timeout(STARTS_WITHIN)
  while (child.exitCode === null) {
    const response = await fetch(url, { signal: deadline }).catch(() => undefined)
    if (response?.ok) return
    if (deadline.aborted) {
      child.kill('SIGKILL')
      throw new Error(`web did not answer within ${STARTS_WITHIN} ms`)
    }
    await sleep(50)
  }
}
