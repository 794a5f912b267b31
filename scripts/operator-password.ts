/** The operator's password: as it was set, else one of our own, made at random on the first run and kept. */

import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Environment } from '../tunnel/src/config/settings.ts'

const BYTES = 18 // 24 characters of base64url

/** `undefined` when the operator has set one, in the environment or in a file that it names. */
export function ownPassword(file: string, env: Environment): string | undefined {
  if (!isSet(env) && !existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${randomBytes(BYTES).toString('base64url')}\n`, { mode: 0o600 })
  }
  return keptPassword(file, env)
}

/** The same, but none is made. */
export function keptPassword(file: string, env: Environment): string | undefined {
  return isSet(env) || !existsSync(file) ? undefined : readFileSync(file, 'utf8').trim()
}

function isSet(env: Environment): boolean {
  return Boolean(env.OPERATOR_PASSWORD || env.OPERATOR_PASSWORD_FILE)
}
