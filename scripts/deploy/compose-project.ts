/** The Compose project of this work tree: what its files say, what runs, and commands to it. */

import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import type { Environment } from 'contract/settings'
import { ROOT, UserError } from '../environment.ts'
import { runStep } from '../progress.mjs'

/** Service as `docker compose config` describes it. */
export type Service = {
  image?: string
  build?: object
  depends_on?: Record<string, object>
  environment?: Record<string, string | null>
}

export class ComposeProject {
  readonly #env: Environment
  readonly #stopped: AbortSignal

  constructor(env: Environment, stopped: AbortSignal) {
    this.#env = env
    this.#stopped = stopped
  }

  /** Returns the services of the compose files and profiles in force. Throws a `UserError` when Compose rejects its files. */
  services(): Record<string, Service> {
    const { status, stdout, stderr } = this.docker('compose', 'config', '--format', 'json')
    if (status !== 0)
      throw new UserError('nothing was built or replaced: Compose rejects its files.', stderr.trim())
    return JSON.parse(stdout).services
  }

  /** Returns the IDs of a service's running containers. */
  containers(service: string): string[] {
    return this.lines('compose', 'ps', '--quiet', service)
  }

  /** Returns the lines that a command prints; none when it fails. */
  lines(...args: string[]): string[] {
    return this.docker(...args)
      .stdout.split('\n')
      .filter(Boolean)
  }

  docker(...args: string[]): SpawnSyncReturns<string> {
    return spawnSync('docker', args, { cwd: ROOT, env: this.#env, encoding: 'utf8' })
  }

  /** Runs `docker compose` as a step. Rejects with `StepFailed`, which holds its output. */
  compose(title: string, env: Environment, ...args: string[]): Promise<void> {
    const options = { cwd: ROOT, env: { ...this.#env, ...env }, signal: this.#stopped }
    return runStep(title, ['docker', 'compose', ...args], options)
  }

  /** Runs `docker` as a step, which goes on when the command is interrupted. */
  step(title: string, ...args: string[]): Promise<void> {
    return runStep(title, ['docker', ...args], { env: this.#env })
  }
}
