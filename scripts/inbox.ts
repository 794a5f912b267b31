/** Lists what the inbox holds, of the containers when they run, else of the plain way. */

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { readEnvironment } from './environment.ts'

const root = resolve(import.meta.dirname, '..')
const env = readEnvironment(root)
const SHOW = 'tunnel/src/show-inbox.ts'

const [program = '', ...args] = containersRun()
  ? ['docker', 'compose', 'exec', '-T', 'tunnel', 'node', SHOW, ...process.argv.slice(2)]
  : [process.execPath, resolve(root, SHOW), ...process.argv.slice(2)]
process.exitCode = spawnSync(program, args, { cwd: root, env, stdio: 'inherit' }).status ?? 1

function containersRun(): boolean {
  const ps = ['compose', 'ps', '--quiet', '--status', 'running', 'tunnel']
  const { stdout } = spawnSync('docker', ps, { cwd: root, env, encoding: 'utf8' })
  return (stdout ?? '').trim() !== ''
}
