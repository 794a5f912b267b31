/** Finds settings that the running containers have and new ones would not, since this environment does not name them. */

import {
  CHOSEN_NAMES,
  type Environment,
  rowOf,
  SETTING_NAMES,
  type SettingName,
} from '../tunnel/src/config/settings.ts'

const OWN = new Set<string>(SETTING_NAMES.filter((name) => !CHOSEN_NAMES.includes(name) && !isOfEngine(name)))

/** `held` are lines like `NAME=value`. A setting that is named here and empty is removed on purpose. */
export function lostSettings(held: readonly string[], env: Environment): string[] {
  const names = held.filter((line) => /=./s.test(line)).map((line) => settingOf(line.split('=')[0] ?? ''))
  const lost = names.filter(
    (name) => OWN.has(name) && env[name] === undefined && env[`${name}_FILE`] === undefined,
  )
  return [...new Set(lost)].sort()
}

/** `SENTRY_DSN` for `SENTRY_DSN_FILE`: which of the two it is may change. */
function settingOf(name: string): string {
  return OWN.has(name) ? name : name.replace(/_FILE$/, '')
}

/** Docker may put the proxy into every container, and the image its certificates. */
function isOfEngine(name: SettingName): boolean {
  return rowOf(name).isProxy === true || name === 'NODE_EXTRA_CA_CERTS'
}
