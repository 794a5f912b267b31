/** Whether Docker can run the stack on this machine. */

import { spawnSync } from 'node:child_process'

/** What the Dockerfiles and the compose file are built on. */
export const BASE_IMAGES = ['node:24-slim', 'nginx:1.30']

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
export function missingImages(): string[] {
  return BASE_IMAGES.filter((image) => ask('image', 'inspect', '--format', '{{.Id}}', image) === undefined)
}

function ask(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('docker', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: ASK_TIMEOUT,
  })
  return status === 0 && stdout.trim() ? stdout.trim() : undefined
}
