/** Images of the compose file, built once for all stacks of a test run. */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { withLock } from '../../../scripts/progress.mjs'
import { ROOT } from '../node.ts'
import { BUILD_TIMEOUT_MS, callDocker, forgetUnresponsiveEngine, RUN_VARIABLE } from './engine.ts'

const SERVICES = ['tunnel', 'web']
const LOCK = join(ROOT, '.culvert/test-images.lock')

/** Chooses the project of the images for this process and those that it starts. Returns a function that removes the images. */
export function shareImages(): () => Promise<void> {
  if (process.env[RUN_VARIABLE] !== undefined) return async () => {} // another project of the same run removes them
  const owner = `culvert-test-images-${randomBytes(4).toString('hex')}`
  process.env[RUN_VARIABLE] = owner
  return async () => {
    const names = ['--format', '{{.Repository}}', '--filter', `reference=${owner}-*`]
    try {
      const built = await docker(owner, 'image', 'ls', ...names)
      if (built.length > 0) await docker(owner, 'image', 'rm', ...built)
    } finally {
      forgetUnresponsiveEngine()
      delete process.env[RUN_VARIABLE]
    }
  }
}

/** Tags the shared images for another project, and builds them first if needed. Returns whether images are shared. */
export async function tagImages(project: string): Promise<boolean> {
  const owner = process.env[RUN_VARIABLE]
  if (owner === undefined) return false
  await withLock(
    LOCK,
    () => buildOnce(owner),
    () => {},
  )
  await Promise.all(
    SERVICES.map((service) => docker(owner, 'tag', `${owner}-${service}`, `${project}-${service}`)),
  )
  return true
}

async function buildOnce(owner: string): Promise<void> {
  const built = await docker(owner, 'image', 'ls', '--quiet', '--filter', `reference=${owner}-*`)
  if (built.length === SERVICES.length) return
  await callDocker(['compose', 'build', ...SERVICES], {
    env: environmentOf(owner),
    timeout: BUILD_TIMEOUT_MS,
  })
}

/** Runs docker for a Compose project, and returns the lines of its output. */
async function docker(project: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await callDocker(args, { env: environmentOf(project) })
  return stdout.split('\n').filter(Boolean)
}

function environmentOf(project: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME, // Compose itself may be installed there
    DOCKER_HOST: process.env.DOCKER_HOST,
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_ENV_FILES: '/dev/null', // ignores the .env of the work tree
  }
}
