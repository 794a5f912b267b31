/** Lets processes end with the one that started them, even when that is killed without a chance to end them itself. */

import { spawnSync } from 'node:child_process'

/**
 * What to put before a command. Linux sends the signal by itself (prctl, PR_SET_PDEATHSIG); util-linux's `setpriv`
 * asks it to. Empty where that is not to be had: there a SIGKILL to the supervisor leaves its processes behind.
 */
export function lifeline(): string[] {
  const words = ['setpriv', '--pdeathsig', 'TERM']
  return spawnSync('setpriv', [...words.slice(1), 'true'], { stdio: 'ignore' }).status === 0 ? words : []
}
