/** Generates the lists of settings in `docker-compose.yml`, which pass to each container what it reads. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHOSEN_NAMES, rowOf, SETTING_NAMES, type SettingName } from 'contract/settings'
import { ROOT } from '../environment.ts'

const FILE = 'docker-compose.yml'

/** Returns the text of the generated file by its path in the repository. */
export function composeFile(): Record<string, string> {
  const text = readFileSync(join(ROOT, FILE), 'utf8')
  const list = /( *# settings of (.+)\n)[\s\S]*?( *# end of the list\n)/g
  return {
    [FILE]: text.replaceAll(
      list,
      (_, begin, processes: string, end) => begin + linesFor(processes.split(/, | and /)) + end,
    ),
  }
}

/** Returns the lines for the settings that any of these processes reads. */
function linesFor(processes: readonly string[]): string {
  const isRead = (name: SettingName) => rowOf(name).readBy.some((process) => processes.includes(process))
  return SETTING_NAMES.filter((name) => isRead(name) && !CHOSEN_NAMES.includes(name))
    .flatMap(linesOf)
    .sort()
    .map((line) => `      ${line}\n`)
    .join('')
}

function linesOf(name: SettingName): string[] {
  const { hasFile, isMounted } = rowOf(name)
  if (isMounted) return [mounted(name, name)]
  return [`${name}:`, ...(hasFile ? [mounted(`${name}_FILE`, name)] : [])]
}

/** Returns the line for a file, which is mounted as a secret of Compose. */
function mounted(variable: string, name: SettingName): string {
  return `${variable}: \${${variable}:+/run/secrets/${name.toLowerCase().replaceAll('_', '-')}}`
}
