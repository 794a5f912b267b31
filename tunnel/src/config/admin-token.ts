/** The token that opens the admin port: known to the tunnel, to web and to scripts, since all derive it from one password. */

import { scryptSync } from 'node:crypto'
import { type Environment, readSecret } from './settings.ts'

/** One secret is enough: the token follows from the operator's password, unless it is set itself. */
export function readAdminToken(env: Environment, problems: string[]): string | undefined {
  const password = readSecret(env, 'OPERATOR_PASSWORD', problems)
  return (
    readSecret(env, 'ADMIN_TOKEN', problems) ??
    (password === undefined ? undefined : deriveAdminToken(password))
  )
}

let last: { password: string; token: string } | undefined

/** 32 bytes in hex, by scrypt with a fixed label. The last one is remembered: it is slow on purpose, and web reads its settings often. */
export function deriveAdminToken(password: string): string {
  if (last?.password !== password)
    last = { password, token: scryptSync(password, 'culvert admin token', 32).toString('hex') }
  return last.token
}
