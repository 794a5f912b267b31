/** nginx for `npm start -- --plain`: finds or installs it, and renders its configuration. */

import { closeSync, mkdirSync, openSync, readSync, rmSync, unwatchFile, watchFile } from 'node:fs'
import { join } from 'node:path'
import { writeNginxConfig } from '../deploy/nginx/render.ts'
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
  if (!find() && canInstall(env)) await install(['nginx-light'], env, stopped)
  const nginx = find()
  if (!nginx)
    throw new UserError(
      'nginx is not installed; install it (apt install nginx, brew install nginx) or start a Docker Engine.',
    )
  return nginx
}

/** Files of one run: the folder of everything that nginx writes, the configuration, and the log of requests that the app did not answer. */
export type NginxFiles = { folder: string; config: string; appLog: string }

/** Renders `nginx.conf`. Throws a `UserError` that names every problem with the settings. */
export function renderNginx(config: Config, { listen, innerListen, tunnels, web }: Addresses): NginxFiles {
  const { stateFolder, httpPort, env } = config
  const folder = join(stateFolder, 'nginx', `${httpPort}`) // another site of this work tree may run on another port
  mkdirSync(folder, { recursive: true, mode: 0o700 }) // the access log holds client addresses
  const rendered = join(folder, 'nginx.conf')
  const appLog = join(folder, 'app-away.log')
  for (const file of [join(folder, 'access.log'), appLog]) rmSync(file, { force: true }) // they do not grow from run to run
  const own = {
    LISTEN: `${listen} ${innerListen}/inner`,
    TUNNELS: tunnels.join(' '),
    WEB: web,
  }
  const problems = writeNginxConfig({ ...env, ...own }, rendered)
  if (problems.length > 0) throw new UserError('nginx.conf could not be rendered.', problems.join('\n'))
  return { folder, config: rendered, appLog }
}

const POLL_MS = 500
const LINE_BYTES = 2_000

/** Calls `onGrowth` with the first line of a log whenever it has grown; its lines are alike. Returns a function that ends this. */
export function followLog(file: string, onGrowth: (line: string) => void): () => void {
  watchFile(file, { interval: POLL_MS }, ({ size }, { size: before }) => {
    if (size > before) onGrowth(readFirstLine(file))
  })
  return () => unwatchFile(file)
}

function readFirstLine(file: string): string {
  const start = Buffer.alloc(LINE_BYTES)
  const opened = openSync(file, 'r')
  const bytes = readSync(opened, start)
  closeSync(opened)
  return start.toString('utf8', 0, bytes).split('\n', 1)[0] ?? ''
}
