/** Installs programs with apt-get on Debian-like systems, without starting the services that come with them. */

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import type { Environment } from '../tunnel/src/config/settings.ts'
import { findProgram } from './find-program.ts'
import { runStep } from './progress.mjs'

// Debian's own way to forbid it: invoke-rc.d(8) asks this script, and 101 means no.
const POLICY = '/usr/sbin/policy-rc.d'

/** Whether this process may install Debian packages. */
export function canInstall(env: Environment): boolean {
  return (
    process.getuid?.() === 0 &&
    existsSync('/etc/debian_version') &&
    findProgram(['apt-get'], env.PATH ?? '') !== undefined
  )
}

/** Installs a package, reading the lists of packages first. Rejects with `StepFailed`. */
export async function install(name: string, env: Environment, signal?: AbortSignal): Promise<void> {
  const options = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' }, ...(signal && { signal }) }
  const command = `apt-get -qq update && apt-get -qq install -y --no-install-recommends ${name}`
  const allow = forbidServices()
  try {
    await runStep(`Installing ${name} (apt-get; no service is started)`, ['sh', '-c', command], options)
  } finally {
    allow()
  }
}

function forbidServices(): () => void {
  if (existsSync(POLICY)) return () => {} // the machine has a policy of its own
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return () => rmSync(POLICY, { force: true })
}
