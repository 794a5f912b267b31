/** Exits a process that cannot start, with the problems and their remedies. */

import type { Environment } from 'contract/settings'
import { BadSettings, type Config, readConfig } from './config.ts'

export function readConfigOrExit(env: Environment): Config {
  try {
    return readConfig(env)
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error
    return exitWith(error.problems)
  }
}

/**
 * Returns the result of `work`. Exits with `problem`, which names the setting and the remedy, on an error of the system, SQLite or the NATS
 * server, and with the error itself where that names a setting. Throws other errors, which are bugs.
 */
export async function orExit<T>(problem: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (SETTING.test(error.message)) return exitWith([error.message])
    if (!isExternal(error)) throw error
    return exitWith([`${problem} (${error.message})`])
  }
}

const SETTING = /^[A-Z]+_[A-Z_]+: /

function isExternal(error: Error): boolean {
  return 'syscall' in error || 'errcode' in error || ('code' in error && typeof error.code === 'number')
}

function exitWith(problems: readonly string[]): never {
  process.stderr.write(
    `culvert tunnel: cannot start, ${problems.length} problem(s):\n${problems.join('\n')}\n`,
  )
  process.exit(1)
}
