/** Problems with the settings of a tunnel. */

import type { Environment } from '../../../contract/settings.ts'
import { BadSettings, readConfig } from '../../../tunnel/src/config/config.ts'

/** Returns a sentence for each wrong setting; none when a tunnel would start. */
export function problemsOf(env: Environment): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof BadSettings) return error.problems
    throw error
  }
}
