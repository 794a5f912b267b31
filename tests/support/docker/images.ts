/** Images of the compose file, built once for all stacks of a test run. */

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withLock } from '../../../scripts/progress.mjs'
import { ROOT } from '../node.ts'

const SERVICES = ['nginx-config', 'tunnel', 'web']
const OUTPUT_BYTES = 64 * 1024 * 1024 // 64 MiB
const LOCK = join(ROOT, '.culvert/test-images.lock')
/** Variable with the Compose project of the images, for the processes of the run. */
const PROJECT_VARIABLE = 'CULVERT_TEST_IMAGES'

/** Chooses the project of the images for this process and those that it starts. Returns a function that removes the images. */
export function shareImages(): () => Promise<void> {
  if (process.env[PROJECT_VARIABLE] !== undefined) return async () => {} // another project of the same run removes them
  const owner = `culvert-test-images-${randomBytes(4).toString('hex')}`
  process.env[PROJECT_VARIABLE] = owner
  return async () => {
    delete process.env[PROJECT_VARIABLE]
    const names = ['--format', '{{.Repository}}', '--filter', `reference=${owner}-*`]
    const built = await docker(owner, 'image', 'ls', ...names)
    if (built.length > 0) await docker(owner, 'image', 'rm', ...built)
  }
}

/** Tags the shared images for another project, and builds them first if needed. Returns whether images are shared. */
export async function tagImages(project: string): Promise<boolean> {
  const owner = process.env[PROJECT_VARIABLE]
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
  const built = await docker(owner, 'image', 'ls', '--quiet', `${owner}-${SERVICES[0]}`)
  if (built.length === 0) await docker(owner, 'compose', 'build', ...SERVICES)
}

/** Runs docker for a Compose project, and returns the lines of its output. */
async function docker(project: string, ...args: string[]): Promise<string[]> {
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME, // Compose itself may be installed there
    DOCKER_HOST: process.env.DOCKER_HOST,
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_ENV_FILES: '/dev/null', // ignores the .env of the work tree
  }
  const { stdout } = await promisify(execFile)('docker', args, { cwd: ROOT, env, maxBuffer: OUTPUT_BYTES })
  return stdout.split('\n').filter(Boolean)
}
