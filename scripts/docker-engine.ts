/** Whether Docker can run the stack on this machine. */

import { spawnSync } from 'node:child_process'
import type { Environment } from '../tunnel/src/config/settings.ts'

/** What the compose file builds on, by the settings that name others. */
const BASE_IMAGES = { NODE_IMAGE: 'node:24-slim', NGINX_IMAGE: 'nginx:1.30' }

const ASK_TIMEOUT = 20 * 1000 // 20 s: an engine that does not answer by then is none

/** Why no engine can be used, as half a sentence; `undefined` when one answers and Compose v2 is there. */
export function engineProblem(): string | undefined {
  if (ask('info', '--format', '{{.ServerVersion}}') === undefined) return 'no Docker Engine answers'
  const compose = ask('compose', 'version', '--short')
  if (compose === undefined) return 'Docker Compose v2 is not installed'
  if (Number.parseInt(compose.replace(/^v/, ''), 10) < 2) return `Docker Compose is ${compose}, v2 is needed`
  return undefined
}

/** The base images that this engine does not hold. */
export function missingImages(env: Environment): string[] {
  const images = Object.entries(BASE_IMAGES).map(([name, byDefault]) => env[name] || byDefault)
  return images.filter((image) => ask('image', 'inspect', '--format', '{{.Id}}', image) === undefined)
}

function ask(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('docker', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: ASK_TIMEOUT,
  })
  return status === 0 && stdout.trim() ? stdout.trim() : undefined
}
