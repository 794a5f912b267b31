/** Commands of Docker, with a limit of time. After the first one that exceeds it, all others of the test run fail at once. */

import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../node.ts'

/** Time for one command. It is shorter than that of a test or hook, whose message would not name the command. */
const TIMEOUT_MS = 280 * 1000 // a hook has 300 s
const OUTPUT_BYTES = 64 * 1024 * 1024 // 64 MiB

/** Variable with the name of the test run, for the processes of the run. It is also the Compose project of their images. */
export const RUN_VARIABLE = 'CULVERT_TEST_IMAGES'

export type DockerOptions = {
  /** Working folder; the root of the repository unless given. */
  cwd?: string
  /** Environment; that of this process unless given. */
  env?: NodeJS.ProcessEnv
  /** Time for the command, in ms. */
  timeout?: number
}

/** Runs docker. Rejects with its errors when it fails, when it exceeds its time, and after another command of the run did. */
export async function runDocker(
  args: string[],
  { cwd = ROOT, env = process.env, timeout = TIMEOUT_MS }: DockerOptions = {},
): Promise<{ stdout: string; stderr: string }> {
  const problem = findUnresponsiveEngine()
  if (problem !== undefined) throw new Error(problem)
  const options = { cwd, env, timeout, killSignal: 'SIGKILL', maxBuffer: OUTPUT_BYTES } as const
  return await promisify(execFile)('docker', args, options).catch(async (error) => {
    if (error.signal !== options.killSignal) throw error
    const command = ['docker', ...args].join(' ')
    throw new Error(await markUnresponsive(`"${command}" did not end within ${timeout / 1000} s`))
  })
}

/** Returns the command of this run that exceeded its time, as half a sentence; `undefined` when none did. */
export function findUnresponsiveEngine(): string | undefined {
  const file = markerFile()
  return file !== undefined && existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** Lets later runs of the same name use the engine again. */
export function forgetUnresponsiveEngine(): void {
  const file = markerFile()
  if (file !== undefined) rmSync(file, { force: true })
}

async function markUnresponsive(problem: string): Promise<string> {
  const text = `the Docker Engine does not respond: ${problem}`
  const file = markerFile()
  if (file !== undefined) {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return text
}

/** Returns the file that tells the other processes of the run; `undefined` outside a run that shares images. */
function markerFile(): string | undefined {
  const run = process.env[RUN_VARIABLE]
  return run === undefined ? undefined : join(ROOT, '.culvert', `${run}.unresponsive`)
}
