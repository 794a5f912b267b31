/** Delivers what is pending in a spool that the tunnels of this machine no longer use, in a tunnel of its own. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseNatsUrl } from 'contract/nats-url'
import { ROOT, readEnvironment, UserError, withKeptPassword } from '../environment.ts'
import { docker } from '../programs.ts'

const PROGRAM = 'tunnel/src/commands/drain.ts'

const SPOOL_OF_COMPOSE = 'file:///spool/spool.db'

/** One more container of the service, without the name by which nginx and web find tunnels. It takes SPOOL_URL from the environment. */
const ONE_MORE = ['compose', 'run', '--rm', '--no-deps', '-T', 'tunnel', 'node', PROGRAM]

/** Runs until nothing is pending. Throws a `UserError` when the address is wrong, or the tunnel fails. */
export function drain(spoolUrl: string): void {
  if (!spoolUrl.startsWith('file:///') && !parseNatsUrl(spoolUrl))
    throw new UserError(
      `"${spoolUrl}" is not the address of a spool; write what SPOOL_URL was before. The default of Compose is file:///spool/spool.db.`,
    )
  const settings = withKeptPassword(readEnvironment())
  const runsInCompose = Boolean(docker('compose', 'ps', '--quiet', 'tunnel'))
  const inUse = settings.SPOOL_URL || (runsInCompose ? SPOOL_OF_COMPOSE : undefined)
  if (inUse === spoolUrl)
    throw new UserError(
      `"${spoolUrl}" is the spool in use (SPOOL_URL): the tunnels deliver what is pending there.`,
    )
  const env = { ...settings, SPOOL_URL: spoolUrl, SPOOL_URL_FILE: '' }
  const [program, args] = runsInCompose ? ['docker', ONE_MORE] : [process.execPath, [join(ROOT, PROGRAM)]]
  const { status } = spawnSync(program, args, { cwd: ROOT, env, stdio: 'inherit' })
  if (status !== 0) throw new UserError('the spool was not drained; what is pending there is kept.')
}
