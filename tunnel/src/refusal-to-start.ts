/** Ends a process whose settings are wrong, after it has listed every problem. */

import { BadSettings, type Config, readConfig } from './config.ts'
import type { Environment } from './settings.ts'

export function readConfigOrExit(env: Environment): Config {
  try {
    return readConfig(env)
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error
    const { problems } = error
    process.stderr.write(
      `culvert tunnel: cannot start, ${problems.length} problem(s):\n${problems.join('\n')}\n`,
    )
    process.exit(1)
  }
}
