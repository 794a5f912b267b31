/** Prints the settings with which the site would start, without secrets, or every problem with them. */

import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readConfig as readTunnelConfig } from '../tunnel/src/config/config.ts'
import { findMisspelt } from '../tunnel/src/config/setting-names.ts'
import { type Environment, rowOf, SETTING_NAMES } from '../tunnel/src/config/settings.ts'
import { SettingsReader, type ShownSettings } from '../tunnel/src/config/settings-reader.ts'
import { readConfig as readWebConfig } from '../web/lib/config.ts'
import { configurationPage } from './configuration-page.ts'
import { readEnvironment, refuseWrong } from './environment.ts'
import { wantsHelp } from './help.ts'
import { ownPassword } from './operator-password.ts'
import { UserError } from './user-error.ts'

const ROOT = resolve(import.meta.dirname, '..')
const USAGE = `npm run config
  prints every setting of nginx, web and the tunnels by its name, as npm start would start them, without secrets, and names
  what looks like a misspelt one. docs/configuration.md says what each setting is.
  --docs   writes docs/configuration.md instead`

try {
  const flags = process.argv.slice(2)
  const unknown = flags.find((flag) => flag !== '--docs')
  if (wantsHelp(process.argv)) console.log(USAGE)
  else if (unknown !== undefined)
    throw new UserError(`"${unknown}" is not a flag of npm run config.\n${USAGE}`)
  else if (flags.length > 0) writeFileSync(join(ROOT, 'docs/configuration.md'), configurationPage())
  else print(environmentWithPassword())
} catch (error) {
  if (!(error instanceof UserError)) throw error
  console.error(`culvert: ${error.message}`)
  process.exitCode = 1
}

function environmentWithPassword(): Environment {
  const env = readEnvironment(ROOT)
  const password = ownPassword(join(ROOT, '.culvert/operator-password'), env)
  return { ...env, ...(password && { OPERATOR_PASSWORD: password }) }
}

function print(env: Environment): void {
  for (const sentence of findMisspelt(env)) console.error(sentence)
  refuseWrong(env, 'it would not start')
  const shown = effectiveSettings(env)
  const width = Math.max(...SETTING_NAMES.map(({ length }) => length))
  console.log('In force; * marks what is set, all else is a default. Secrets are not shown.')
  for (const title of new Set(SETTING_NAMES.map((name) => rowOf(name).section))) {
    console.log(`\n${title}`)
    for (const name of SETTING_NAMES.filter((each) => rowOf(each).section === title))
      console.log(`${isSet(env, name) ? '*' : ' '} ${name.padEnd(width)}  ${shown[name]}`)
  }
}

/** Returns the settings as the tunnels and web have them, and as Compose has those that neither reads. */
function effectiveSettings(env: Environment): ShownSettings {
  const [all, web] = [new SettingsReader(env, []), new SettingsReader(env, [])]
  for (const name of SETTING_NAMES) all.read(name)
  readWebConfig(env, [], web)
  return { ...all.shown, ...web.shown, ...readTunnelConfig(env).shown }
}

function isSet(env: Environment, name: string): boolean {
  return [name, `${name}_FILE`, name.toLowerCase()].some((each) => Boolean(env[each]?.trim()))
}
