/** Finds programs that are already on this machine. */

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

// Where Debian keeps servers; often missing from the PATH of anyone but root.
const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/** The full path of the first of `names` found in `path` (a `PATH`), or `undefined`. */
export function findProgram(names: string[], path: string): string | undefined {
  const folders = [...path.split(delimiter).filter(Boolean), ...SERVER_FOLDERS]
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The names Chromium goes by, the Debian one first. */
export const CHROMIUM = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
