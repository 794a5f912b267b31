/** Runs a program of the tunnel's: in a container when the containers run, else here, as the plain way does. */

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { readEnvironment } from './environment.ts'

const ROOT = resolve(import.meta.dirname, '..')

/** With the arguments of this process. `handed` are settings of which the container is given what they are here. Gives how it ended. */
export function runInTunnel(file: string, handed: readonly string[] = []): number {
  const env = readEnvironment(ROOT)
  const options = handed.flatMap((name) => ['-e', name])
  const [program = '', ...args] = containersRun(env)
    ? ['docker', 'compose', 'exec', '-T', ...options, 'tunnel', 'node', file]
    : [process.execPath, resolve(ROOT, file)]
  const given = process.argv.slice(2)
  return spawnSync(program, [...args, ...given], { cwd: ROOT, env, stdio: 'inherit' }).status ?? 1
}

function containersRun(env: NodeJS.ProcessEnv): boolean {
  const ps = ['compose', 'ps', '--quiet', '--status', 'running', 'tunnel']
  const { stdout } = spawnSync('docker', ps, { cwd: ROOT, env, encoding: 'utf8' })
  return (stdout ?? '').trim() !== ''
}
