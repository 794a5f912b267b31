/** nginx for the plain way: found or installed, and its routing table filled in. */

import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { canInstall, install } from './debian-packages.ts'
import type { Config } from './environment.ts'
import { findProgram } from './find-program.ts'
import { UserError } from './user-error.ts'

export type Addresses = {
  /** Where the site listens. */
  listen: string
  /** Where web posts its own reports. */
  innerListen: string
  tunnels: string[]
  web: string
}

/** The full path of nginx. Installs it where that can be done; throws a `Refusal` that says what to install elsewhere. */
export async function findNginx({ env }: Config, stopped: AbortSignal): Promise<string> {
  const find = () => findProgram(['nginx'], env.PATH ?? '')
  if (!find() && canInstall(env)) await install('nginx-light', env, stopped)
  const nginx = find()
  if (!nginx)
    throw new UserError(
      'nginx is not installed; install it (apt install nginx, brew install nginx) or start a Docker Engine.',
    )
  return nginx
}

/** Writes the filled-in `nginx.conf` and gives its path. Throws a `Refusal` in the words of the settings. */
export function renderNginx(config: Config, { listen, innerListen, tunnels, web }: Addresses): string {
  const { root, stateFolder, httpPort, env } = config
  const folder = join(stateFolder, 'nginx', `${httpPort}`) // of its own: another site of this work tree may run on another port
  mkdirSync(folder, { recursive: true, mode: 0o700 }) // the log in it says who has visited
  const rendered = join(folder, 'nginx.conf')
  const own = {
    LISTEN: listen,
    INNER_LISTEN: innerListen,
    TUNNELS: tunnels.join(' '),
    WEB: web,
    RESOLVER: '',
    NGINX_TEMP: folder,
    ACCESS_LOG: freshLog(folder), // our own pipe to it is a socket, which nginx cannot open as /dev/stdout
  }
  const render = ['scripts/render-nginx.sh', 'nginx.conf', rendered]
  const { status, stderr } = spawnSync('sh', render, { cwd: root, env: { ...env, ...own }, encoding: 'utf8' })
  if (status !== 0) throw new UserError('nginx.conf could not be filled in.', stderr.trim())
  return rendered
}

/** Of this run only, so that it does not grow from run to run. */
function freshLog(folder: string): string {
  const file = join(folder, 'access.log')
  rmSync(file, { force: true })
  return file
}
