/** Prints the settings that the tunnel would be started with, without secrets. */

import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { readEnvironment } from './environment.ts'
import { ownPassword } from './operator-password.ts'

const root = resolve(import.meta.dirname, '..')
const env = readEnvironment(root)
const password = ownPassword(join(root, '.culvert/operator-password'), env)
const shown = spawnSync(process.execPath, [join(root, 'tunnel/src/show-config.ts')], {
  cwd: root,
  env: { ...env, ...(password && { OPERATOR_PASSWORD: password }) },
  stdio: 'inherit',
})
process.exitCode = shown.status ?? 1
