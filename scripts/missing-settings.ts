/** Which settings the containers that run have and new ones would not, since the environment here does not name them. */

import { SETTING_NAMES } from '../tunnel/src/config/setting-names.ts'
import type { Environment } from '../tunnel/src/config/settings.ts'

// Chosen by the images and by compose, or put into every container by the engine.
const OF_OTHERS = new Set(
  'HOST PORT ADMIN_HOST EDGE SPOOL_CREDENTIALS_FILE TUNNEL_ADMIN TUNNEL_ORIGIN HTTPS_PROXY HTTP_PROXY NO_PROXY NODE_EXTRA_CA_CERTS'.split(
    ' ',
  ),
)
const OWN = new Set(SETTING_NAMES.filter((name) => !OF_OTHERS.has(name)))

/** `held` are lines like `NAME=value`. What is named here and empty is to go, and not lost. */
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
