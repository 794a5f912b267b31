/** Prints the settings that the site would be started with, without secrets, or every problem with them. */

import { join, resolve } from 'node:path'
import { readConfig as readTunnelConfig } from '../tunnel/src/config/config.ts'
import { findMisspelt } from '../tunnel/src/config/setting-names.ts'
import type { Environment } from '../tunnel/src/config/settings.ts'
import { readConfig as readWebConfig } from '../web/lib/config.ts'
import { showSettings } from './effective-settings.ts'
import { readEnvironment, readSite, refuseWrong } from './environment.ts'
import { wantsHelp } from './help.ts'
import { ownPassword } from './operator-password.ts'
import { Refusal } from './user-error.ts'

const USAGE = `npm run config
  prints every setting of nginx, web and the tunnels by its name, as npm start would start them, without secrets, and names
  what looks like a misspelt one. It takes no flags. README says what each setting is.`

try {
  const [unknown] = process.argv.slice(2)
  if (wantsHelp(process.argv)) console.log(USAGE)
  else if (unknown !== undefined) throw new Refusal(`"${unknown}" is not a flag of npm run config.\n${USAGE}`)
  else show(withPassword(resolve(import.meta.dirname, '..')))
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(`culvert: ${error.message}`)
  process.exitCode = 1
}

function withPassword(root: string): Environment {
  const env = readEnvironment(root)
  const password = ownPassword(join(root, '.culvert/operator-password'), env)
  return { ...env, ...(password && { OPERATOR_PASSWORD: password }) }
}

function show(env: Environment): void {
  for (const sentence of findMisspelt(env)) console.error(sentence)
  refuseWrong(env, 'it would not start')
  const [tunnel, web] = [readTunnelConfig(env), readWebConfig(env, [])]
  console.log(showSettings({ env, site: readSite(env, []), tunnel, web }))
}
