/** Commands of Docker, with a limit of time. After the first one that exceeds it, all others of the test run fail at once. */

import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../node.ts'

/** Time for one command. It is shorter than that of a test or hook, whose message would not name the command. */
const TIMEOUT_MS = 150 * 1000 // tests and hooks have 180 s or more
/** Time for a command that may build images, in the layers that do. */
export const BUILD_TIMEOUT_MS = 280 * 1000 // their tests and hooks have 300 s
const OUTPUT_BYTES = 64 * 1024 * 1024 // 64 MiB
const UNRESPONSIVE = 'the Docker Engine does not respond'

/** Variable with the name of the test run, for the processes of the run. It is also the Compose project of their images. */
export const RUN_VARIABLE = 'CULVERT_TEST_IMAGES'

export type DockerOptions = {
  /** Working folder; the root of the repository unless given. */
  cwd?: string
  /** Environment; that of this process unless given. */
  env?: NodeJS.ProcessEnv
  /** Time for a command that may be slow although the engine responds, in ms. */
  timeout?: number
}

/**
 * Runs docker. Rejects with its errors when it fails, and when it exceeds its time. A command without a `timeout` that exceeds it shows that
 * the engine does not respond: all later ones of the run are rejected at once.
 */
export async function callDocker(
  args: string[],
  { cwd = ROOT, env = process.env, timeout }: DockerOptions = {},
  limitMs = TIMEOUT_MS,
): Promise<{ stdout: string; stderr: string }> {
  const problem = findUnresponsiveEngine()
  if (problem !== undefined) throw new Error(problem)
  const limits = { timeout: timeout ?? limitMs, killSignal: 'SIGKILL', maxBuffer: OUTPUT_BYTES } as const
  return await promisify(execFile)('docker', args, { cwd, env, ...limits }).catch(async (error) => {
    if (!error.killed || error.signal !== limits.killSignal) throw error
    const message = `"docker ${args.join(' ')}" did not end within ${limits.timeout / 1000} s`
    throw new Error(timeout === undefined ? await markUnresponsive(message) : message)
  })
}

/** Returns the command of this run that exceeded its time, as half a sentence; `undefined` when none did. */
export function findUnresponsiveEngine(): string | undefined {
  const file = markerFile()
  return file !== undefined && existsSync(file) ? readFileSync(file, 'utf8') || UNRESPONSIVE : undefined
}

/** Removes the mark, at the end of the run. */
export function forgetUnresponsiveEngine(): void {
  const file = markerFile()
  if (file !== undefined) rmSync(file, { force: true })
}

async function markUnresponsive(problem: string): Promise<string> {
  const text = `${UNRESPONSIVE}: ${problem}`
  const file = markerFile()
  if (file !== undefined) {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text, { flag: 'wx' }).catch(() => {}) // another process has named the first command
  }
  return text
}

/** Returns the file that tells the other processes of the run; `undefined` outside a run that shares images. */
function markerFile(): string | undefined {
  const run = process.env[RUN_VARIABLE]
  return run === undefined ? undefined : join(ROOT, '.culvert', `${run}.unresponsive`)
}
