/** Moves what waits into a file and back, in the containers when they run (FILE is theirs then), else of the plain way. */

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { readEnvironment } from './environment.ts'

const root = resolve(import.meta.dirname, '..')
const env = readEnvironment(root)
const MOVE = 'tunnel/src/move-spool.ts'
const elsewhere = process.env.SPOOL_URL ? ['-e', 'SPOOL_URL'] : [] // another spool than the one the tunnels have

const [program = '', ...args] = containersRun()
  ? ['docker', 'compose', 'exec', '-T', ...elsewhere, 'tunnel', 'node', MOVE, ...process.argv.slice(2)]
  : [process.execPath, resolve(root, MOVE), ...process.argv.slice(2)]
process.exitCode = spawnSync(program, args, { cwd: root, env, stdio: 'inherit' }).status ?? 1

function containersRun(): boolean {
  const ps = ['compose', 'ps', '--quiet', '--status', 'running', 'tunnel']
  const { stdout } = spawnSync('docker', ps, { cwd: root, env, encoding: 'utf8' })
  return (stdout ?? '').trim() !== ''
}
