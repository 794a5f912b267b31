/** nginx for `npm start -- --plain`: finds or installs it, and renders its configuration. */

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeNginxConfig } from '../tunnel/src/config/render-nginx.ts'
import { type Config, UserError } from './environment.ts'
import { canInstall, findProgram, install } from './programs.ts'

export type Addresses = {
  /** Address on which the site listens. */
  listen: string
  /** Address on which nginx accepts envelopes of web's server and of other servers of this machine. */
  innerListen: string
  tunnels: string[]
  web: string
}

/** Finds nginx, or installs it. Throws a `UserError` that says what to install where that is not possible. */
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

/** Renders `nginx.conf` and returns the path of the result. Throws a `UserError` that names every problem with the settings. */
export function renderNginx(config: Config, { listen, innerListen, tunnels, web }: Addresses): string {
  const { stateFolder, httpPort, env } = config
  const folder = join(stateFolder, 'nginx', `${httpPort}`) // another site of this work tree may run on another port
  mkdirSync(folder, { recursive: true, mode: 0o700 }) // the access log holds client addresses
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
  const problems = writeNginxConfig({ ...env, ...own }, rendered)
  if (problems.length > 0) throw new UserError('nginx.conf could not be rendered.', problems.join('\n'))
  return rendered
}

/** Of this run only, so that it does not grow from run to run. */
function freshLog(folder: string): string {
  const file = join(folder, 'access.log')
  rmSync(file, { force: true })
  return file
}
