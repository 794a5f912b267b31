/** Token of the admin port. The tunnel, web and the scripts derive it from one password. */

import { scryptSync } from 'node:crypto'
import type { SettingsReader } from './settings-reader.ts'

/** Reads the admin token, or derives it from the operator's password. */
export function readAdminToken(settings: SettingsReader): string | undefined {
  const password = settings.read('OPERATOR_PASSWORD')
  const token = settings.read('ADMIN_TOKEN')
  if (token !== undefined || password === undefined) return token
  settings.shown.ADMIN_TOKEN = 'derived from OPERATOR_PASSWORD'
  return deriveAdminToken(password)
}

let last: { password: string; token: string } | undefined

/** Derives 32 bytes in hex, by scrypt with a fixed label. Remembers the last result: scrypt is slow, and web reads its settings often. */
export function deriveAdminToken(password: string): string {
  if (last?.password !== password)
    last = { password, token: scryptSync(password, 'culvert admin token', 32).toString('hex') }
  return last.token
}
