/** Replaces web and the tunnels without losing requests: starts new containers beside the old, waits until nginx uses them, then stops the old. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CHOSEN_NAMES,
  type Environment,
  rowOf,
  SETTING_NAMES,
  type SettingName,
} from '../tunnel/src/config/settings.ts'
import { engineProblem } from './docker.ts'
import {
  ROOT,
  readEnvironment,
  rejectWrongSettings,
  runCommand,
  STATE_FOLDER,
  stopSignal,
  UserError,
  warnOfMisspelt,
  withKeptPassword,
} from './environment.ts'
import { runStep, withLock } from './progress.mjs'

const SERVICES = ['tunnel', 'web']
const HEALTHY_TIMEOUT_S = 120
const DISCOVERY_MS = 5_000 // nginx resolves names every 2 s, and waits 2 s for the response

const USAGE = `npm run deploy
  builds the images of web and the tunnel from what stands here, starts new containers beside the old, waits until they are healthy
  and nginx knows them, and then stops the old. It takes no flags. Settings are those of npm start; wrong ones are rejected first.`

class Deployment {
  readonly #env: Environment
  readonly #stopped: AbortSignal

  constructor(env: Environment, stopped: AbortSignal) {
    this.#env = env
    this.#stopped = stopped
  }

  /** Checks the settings and the engine, then replaces the containers, one deployment at a time. */
  async run(): Promise<void> {
    warnOfMisspelt(this.#env)
    rejectWrongSettings(this.#env, 'nothing was built or replaced')
    const problem = engineProblem()
    if (problem !== undefined) throw new UserError(`nothing was built or replaced: ${problem}.`)
    const sayWait = () => console.log('Another deploy is under way …')
    await withLock(join(STATE_FOLDER, 'deploy.lock'), () => this.#replace(), sayWait)
    console.log('Deployed.')
  }

  async #replace(): Promise<void> {
    const old = SERVICES.map((service) => ({ service, ids: this.#containerIds('--quiet', service) }))
    const oldIds = old.flatMap(({ ids }) => ids)
    if (oldIds.length === 0)
      throw new UserError(
        'no containers of Culvert run here; start them with docker compose up --build --detach.',
      )
    this.#rejectLostSettings(oldIds)

    await this.#compose('Building the images', 'build', ...SERVICES)
    try {
      const scale = old.flatMap(({ service, ids }) => [
        '--scale',
        `${service}=${Math.max(1, ids.length * 2)}`,
      ])
      const wait = ['--wait', '--wait-timeout', String(HEALTHY_TIMEOUT_S)]
      const keepOld = ['--detach', '--no-deps', '--no-recreate']
      await this.#compose(
        'Starting new ones beside the old',
        'up',
        ...keepOld,
        ...wait,
        ...scale,
        ...SERVICES,
      )
      await sleep(DISCOVERY_MS, undefined, { signal: this.#stopped })
    } catch (error) {
      throw await this.#removeNew(oldIds, error as Error)
    }
    await runStep('Stopping the old ones', ['docker', 'stop', ...oldIds], { env: this.#env })
    await runStep('Removing them', ['docker', 'rm', ...oldIds], { env: this.#env })
  }

  /** Throws a `UserError` when the running containers have settings that are missing here: they came from another shell. */
  #rejectLostSettings(oldIds: string[]): void {
    const { stdout } = this.#docker('inspect', '--format', '{{json .Config.Env}}', ...oldIds)
    const held = stdout.split('\n').flatMap((line) => (line ? (JSON.parse(line) as string[]) : []))
    const [lost, ...more] = lostSettings(held, this.#env)
    if (lost !== undefined)
      throw new UserError(
        `nothing was built or replaced: what runs has settings that are not set here, ${[lost, ...more].join(', ')}. Put them into .env; one that is to go is set to nothing (${lost}= npm run deploy).`,
      )
  }

  /** Removes the new containers. Returns an error with their output. */
  async #removeNew(oldIds: string[], error: Error & { output?: string }): Promise<UserError> {
    const newIds = this.#containerIds('--all', '--quiet', ...SERVICES).filter((id) => !oldIds.includes(id))
    const logs = newIds
      .map((id) => this.#docker('logs', '--tail', '20', id))
      .map(({ stdout, stderr }) => stdout + stderr)
    if (newIds.length > 0)
      await runStep('Removing the new ones', ['docker', 'rm', '--force', ...newIds], { env: this.#env })
    const reason = this.#stopped.aborted ? 'it was interrupted' : error.message
    const output = [error.output, ...logs].join('\n').trim()
    return new UserError(`nothing was replaced, the old ones serve on: ${reason}`, output)
  }

  #containerIds(...args: string[]): string[] {
    return this.#docker('compose', 'ps', ...args)
      .stdout.split('\n')
      .filter(Boolean)
  }

  #docker(...args: string[]) {
    return spawnSync('docker', args, { cwd: ROOT, env: this.#env, encoding: 'utf8' })
  }

  #compose(title: string, ...args: string[]): Promise<void> {
    const options = { cwd: ROOT, env: this.#env, signal: this.#stopped }
    return runStep(title, ['docker', 'compose', ...args], options)
  }
}

const OPERATOR_SETTINGS = new Set<string>(
  SETTING_NAMES.filter((name) => !CHOSEN_NAMES.includes(name) && !isSetByEngine(name)),
)

/** Returns the settings in `held` (lines like `NAME=value`) that `env` does not name; an empty value removes a setting on purpose. */
export function lostSettings(held: readonly string[], env: Environment): string[] {
  const names = held.filter((line) => /=./s.test(line)).map((line) => settingOf(line.split('=')[0] ?? ''))
  const lost = names.filter(
    (name) => OPERATOR_SETTINGS.has(name) && env[name] === undefined && env[`${name}_FILE`] === undefined,
  )
  return [...new Set(lost)].sort()
}

/** Returns `SENTRY_DSN` for `SENTRY_DSN_FILE`: a setting may move between the two. */
function settingOf(name: string): string {
  return OPERATOR_SETTINGS.has(name) ? name : name.replace(/_FILE$/, '')
}

/** Returns whether Docker or the image may set a variable: the proxies, the certificates, the revision of the image. */
function isSetByEngine(name: SettingName): boolean {
  return rowOf(name).isProxy === true || name === 'NODE_EXTRA_CA_CERTS' || name === 'REVISION'
}

if (import.meta.main)
  await runCommand({ name: 'npm run deploy', usage: USAGE, flags: [] }, () =>
    new Deployment(withKeptPassword(readEnvironment()), stopSignal()).run(),
  )
