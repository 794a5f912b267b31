/** Ends a process that cannot start, after it has said why and what to do. */

import { BadSettings, type Config, readConfig } from './config.ts'
import type { Environment } from './settings.ts'

export function readConfigOrExit(env: Environment): Config {
  try {
    return readConfig(env)
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error
    return refuse(error.problems)
  }
}

/**
 * What `work` gives. When the system does not let it, or it says itself which setting is wrong, the process ends: `problem` names the
 * setting, says what is wrong with it and what to write. A bug goes on as one.
 */
export async function orExit<T>(problem: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (SETTING.test(error.message)) return refuse([error.message])
    if (!isFromOutside(error)) throw error
    return refuse([`${problem} (${error.message})`])
  }
}

const SETTING = /^[A-Z]+_[A-Z_]+: /

/** From the system, SQLite, or the NATS server. */
function isFromOutside(error: Error): boolean {
  return 'syscall' in error || 'errcode' in error || ('code' in error && typeof error.code === 'number')
}

function refuse(problems: readonly string[]): never {
  process.stderr.write(
    `culvert tunnel: cannot start, ${problems.length} problem(s):\n${problems.join('\n')}\n`,
  )
  process.exit(1)
}
