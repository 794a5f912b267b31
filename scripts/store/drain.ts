/** Delivers what is pending in a spool that the tunnels of this machine no longer use, in a tunnel of its own. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseNatsUrl } from 'contract/nats-url'
import { ROOT, readEnvironment, UserError, withKeptPassword } from '../environment.ts'

const PROGRAM = 'tunnel/src/commands/drain.ts'

/** Runs until nothing is pending. Throws a `UserError` when the address is wrong, or the tunnel fails. */
export function drain(spoolUrl: string): void {
  if (!spoolUrl.startsWith('file:///') && !parseNatsUrl(spoolUrl))
    throw new UserError(
      `"${spoolUrl}" is not the address of a spool; write what SPOOL_URL was before. The default of Compose is file:///spool/spool.db.`,
    )
  const env = { ...withKeptPassword(readEnvironment()), SPOOL_URL: spoolUrl, SPOOL_URL_FILE: '' }
  const { status } = runsInCompose()
    ? spawnSync('docker', composeArgs(spoolUrl), { cwd: ROOT, stdio: 'inherit' })
    : spawnSync(process.execPath, [join(ROOT, PROGRAM)], { cwd: ROOT, env, stdio: 'inherit' })
  if (status !== 0) throw new UserError('the spool was not drained; what is pending there is kept.')
}

function runsInCompose(): boolean {
  const { status, stdout } = spawnSync('docker', ['compose', 'ps', '--quiet', 'tunnel'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return status === 0 && stdout.trim() !== ''
}

/** One more container of the service, without the name by which nginx and web find tunnels. */
function composeArgs(spoolUrl: string): string[] {
  const settings = ['--env', `SPOOL_URL=${spoolUrl}`, '--env', 'SPOOL_URL_FILE=']
  return ['compose', 'run', '--rm', '--no-deps', '-T', ...settings, 'tunnel', 'node', PROGRAM]
}
