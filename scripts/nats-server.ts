/** A nats-server for the tests, taken out of its image where this machine has none. */

import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from './find-program.ts'

const IMAGE = 'nats:2'

/** Where it is in the official images, and where Debian puts it. */
const PLACES = ['/nats-server', '/usr/local/bin/nats-server', '/usr/sbin/nats-server']

/** The folder it is put into. */
export function natsFolder(root: string): string {
  return join(root, '.culvert/bin')
}

/** Does nothing where there is one, or neither an engine nor the image: the tests that need it then say so. */
export function bringNatsServer(root: string, path: string): void {
  const folder = natsFolder(root)
  if (findProgram(['nats-server'], `${path}:${folder}`)) return
  const container = docker('create', IMAGE)
  if (container === undefined) return
  mkdirSync(folder, { recursive: true })
  PLACES.some(
    (place) =>
      docker('cp', '--follow-link', `${container}:${place}`, join(folder, 'nats-server')) !== undefined,
  )
  docker('rm', container)
}

/** What it wrote, or `undefined` when it failed. It pulls nothing. */
function docker(command: string, ...args: string[]): string | undefined {
  const flags = command === 'create' ? ['--pull', 'never'] : []
  const { status, stdout } = spawnSync('docker', [command, ...flags, ...args], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
