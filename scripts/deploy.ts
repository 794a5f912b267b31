/** Applies settings and sources without losing requests: starts new containers beside the old, has nginx use them, then stops the old. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLocal } from 'contract/addresses'
import { CHOSEN_NAMES, type Environment, rowOf, SETTING_NAMES, type SettingName } from 'contract/settings'
import { SettingsReader } from 'contract/settings-reader'
import { ComposeProject, type Service } from './deploy/compose-project.ts'
import { buildTag, chooseRollback, currentTag, type Deployed, expiredTags } from './deploy/images.ts'
import { applyToNginx, checkForNginx, nginxServices, RUNS_ONCE } from './deploy/nginx-reload.ts'
import { isSpoolWritable, waitForSpools } from './deploy/spool-check.ts'
import { engineProblem } from './docker.ts'
import {
  ROOT,
  readEnvironment,
  rejectWrongSettings,
  runCommand,
  STATE_FOLDER,
  stopSignal,
  UserError,
  warnOfUnknown,
  withKeptPassword,
} from './environment.ts'
import { withLock } from './progress.mjs'

const SERVICES = ['tunnel', 'web']
const HEALTHY_TIMEOUT_S = 120
const REVISION_LABEL = '{{index .Config.Labels "org.opencontainers.image.revision"}}'
const DISCOVERY_MS = 5_000 // nginx resolves names every 2 s, and waits 2 s for the response

const USAGE = `npm run deploy [-- --rollback]
Applies all settings, and the sources of this work tree. It checks the settings, builds the images of web and the tunnel, and starts new containers
beside the old ones. When they are healthy and nginx uses them, it stops the old ones. It also starts services that the settings need, such as NATS.
  --rollback   start the images of the previous deploy instead of building`

type Mode = 'build' | 'rollback'

/** Service that runs, with its containers. `repository` is the name of its image without a tag; absent when Culvert does not build it. */
type RunningService = { name: string; ids: string[]; repository: string | undefined }

class Deployment {
  readonly #env: Environment
  readonly #stopped: AbortSignal
  readonly #project: ComposeProject

  constructor(env: Environment, stopped: AbortSignal) {
    this.#env = env
    this.#stopped = stopped
    this.#project = new ComposeProject(env, stopped)
  }

  /** Checks the settings and the engine, then replaces the containers, one deployment at a time. */
  async run(mode: Mode): Promise<void> {
    warnOfUnknown(this.#env)
    rejectWrongSettings(this.#env, 'nothing was built or replaced')
    rejectLocalApp(this.#env)
    const problem = engineProblem()
    if (problem !== undefined) throw new UserError(`nothing was built or replaced: ${problem}.`)
    const sayWait = () => console.log('Another deploy is under way …')
    const tag = await withLock(join(STATE_FOLDER, 'deploy.lock'), () => this.#replace(mode), sayWait)
    console.log(mode === 'build' ? `Deployed as ${tag}.` : `Rolled back to ${tag}.`)
  }

  /** Returns the tag of the images that run now. */
  async #replace(mode: Mode): Promise<string> {
    const services = this.#project.services()
    const old = this.#runningServices(services)
    const oldIds = old.flatMap(({ ids }) => ids)
    if (oldIds.length === 0)
      throw new UserError(
        'no containers of Culvert run here; start them with docker compose up --build --detach.',
      )
    this.#rejectLostSettings(oldIds)
    const nginx = nginxServices(services)
    await checkForNginx(this.#project, nginx)
    const tag = mode === 'build' ? await this.#build(old) : chooseRollback(this.#deployed(old))
    try {
      await this.#startMissing(services)
      await this.#startNew(old, tag)
      await this.#requireSpool(old)
      await applyToNginx(this.#project, nginx, tag)
      this.#moveLatest(old, tag)
    } catch (error) {
      const failure = await this.#removeNew(oldIds, error as Error)
      if (mode === 'build') this.#removeTags(old, [tag])
      throw failure
    }
    await this.#stopEach('old', oldIds)
    await this.#project.step('Removing the old containers', 'rm', ...oldIds)
    this.#removeTags(old, expiredTags(this.#deployed(old), tag))
    return tag
  }

  /** Builds images with a new tag. Also tags the running images, for a rollback. */
  async #build(old: RunningService[]): Promise<string> {
    const deployed = this.#deployed(old)
    const [first = ''] = old.flatMap(({ ids }) => ids)
    if (currentTag(deployed) === undefined) {
      const [created = '', label] =
        this.#project.lines('inspect', '--format', `{{.Created}} ${REVISION_LABEL}`, first)[0]?.split(' ') ??
        []
      const tag = buildTag(new Date(created), label)
      for (const { name, repository } of old)
        if (repository)
          this.#project.docker('image', 'tag', deployed.running[name] ?? '', `${repository}:${tag}`)
    }
    const revision = this.#env.REVISION || readRevision()
    const tag = buildTag(new Date(), revision)
    const env = { ...(revision && { REVISION: revision }), IMAGE_TAG: tag }
    await this.#project.compose('Building the images', env, 'build', ...SERVICES)
    return tag
  }

  /** Starts the services that have no container yet: those that a setting has added. */
  async #startMissing(services: Record<string, Service>): Promise<void> {
    const present = this.#project.lines('compose', 'ps', '--all', '--format', '{{.Service}}')
    const missing = Object.keys(services).filter(
      (name) => !present.includes(name) && !SERVICES.includes(name) && !RUNS_ONCE.test(name),
    )
    if (missing.length === 0) return
    const args = ['up', '--detach', '--no-recreate', ...missing]
    await this.#project.compose(`Starting ${missing.join(', ')}`, {}, ...args)
  }

  /** Starts new containers, and waits until they are healthy and nginx knows them. Starts TUNNEL_REPLICAS tunnels if that is set. */
  async #startNew(old: RunningService[], tag: string): Promise<void> {
    const replicas = this.#env.TUNNEL_REPLICAS ? Number(this.#env.TUNNEL_REPLICAS) : undefined
    const wanted = ({ name, ids }: RunningService) =>
      (name === 'tunnel' ? replicas : undefined) ?? Math.max(1, ids.length)
    const scale = old.flatMap((each) => ['--scale', `${each.name}=${each.ids.length + wanted(each)}`])
    const wait = ['--wait', '--wait-timeout', String(HEALTHY_TIMEOUT_S)]
    const keepOld = ['--detach', '--no-deps', '--no-recreate', '--no-build']
    const args = ['up', ...keepOld, ...wait, ...scale, ...SERVICES]
    await this.#project.compose('Starting new containers', { IMAGE_TAG: tag }, ...args)
    await sleep(DISCOVERY_MS, undefined, { signal: this.#stopped })
  }

  /** Throws a `UserError` when the new tunnels cannot store envelopes, and the old ones can. */
  async #requireSpool(old: RunningService[]): Promise<void> {
    const oldIds = old.flatMap(({ ids }) => ids)
    const tunnels = this.#project.containers('tunnel')
    const isNew = (id: string) => !oldIds.includes(id)
    if (await waitForSpools(this.#project, tunnels.filter(isNew), this.#stopped)) return
    if (!tunnels.some((id) => !isNew(id) && isSpoolWritable(this.#project, id))) return
    throw new UserError(
      'the spool at SPOOL_URL does not accept envelopes, so that an outage of Sentry would lose them; the log below says why.',
    )
  }

  /** Has Compose start these images from now on. */
  #moveLatest(services: RunningService[], tag: string): void {
    for (const { repository } of services) {
      if (!repository) continue
      const { status, stderr } = this.#project.docker(
        'image',
        'tag',
        `${repository}:${tag}`,
        `${repository}:latest`,
      )
      if (status !== 0) throw new Error(stderr.trim())
    }
  }

  #runningServices(services: Record<string, Service>): RunningService[] {
    return SERVICES.map((name) => {
      const { build, image } = services[name] ?? {}
      const repository = build && image ? image.replace(/:[^:/]*$/, '') : undefined
      return { name, ids: this.#project.containers(name), repository }
    })
  }

  #deployed(services: RunningService[]): Deployed {
    const built = services.filter(({ repository, ids }) => repository && ids.length > 0)
    const images = built.flatMap(({ name, repository = '' }) =>
      this.#project
        .lines('image', 'ls', '--no-trunc', '--format', '{{.Tag}} {{.ID}}', repository)
        .map((line) => {
          const [tag = '', id = ''] = line.split(' ')
          return { service: name, tag, id }
        }),
    )
    const running = built.map(({ name, ids: [id = ''] }) => [
      name,
      this.#project.lines('inspect', '--format', '{{.Image}}', id)[0] ?? '',
    ])
    return { images, running: Object.fromEntries(running) }
  }

  /** Removes tags, and images without another tag. */
  #removeTags(services: RunningService[], tags: string[]): void {
    for (const { repository } of services)
      for (const tag of tags) if (repository) this.#project.docker('image', 'rm', `${repository}:${tag}`)
  }

  /** Throws a `UserError` if the running containers have settings from another shell, which are missing here. */
  #rejectLostSettings(oldIds: string[]): void {
    const { stdout } = this.#project.docker('inspect', '--format', '{{json .Config.Env}}', ...oldIds)
    const held = stdout.split('\n').flatMap((line) => (line ? (JSON.parse(line) as string[]) : []))
    const [lost, ...more] = lostSettings(held, this.#env)
    if (lost !== undefined)
      throw new UserError(
        `nothing was built or replaced: the running containers have settings that are missing here: ${[lost, ...more].join(', ')}. Add them to .env. To remove a setting on purpose, set it to an empty value: ${lost}= npm run deploy`,
      )
  }

  /**
   * Stops one container after the other: when two replicas abort the same request, nginx makes no third attempt. A failure does not prevent
   * the stop of the others: `docker rm` reports it.
   */
  async #stopEach(which: 'old' | 'new', ids: readonly string[]): Promise<void> {
    for (const [index, id] of ids.entries()) {
      const step = `Stopping the ${which} containers, ${index + 1} of ${ids.length}`
      await this.#project.step(step, 'stop', id).catch(() => {})
    }
  }

  /** Removes the new containers. Returns an error with their output. */
  async #removeNew(oldIds: string[], error: Error & { output?: string }): Promise<UserError> {
    const newIds = this.#project
      .lines('compose', 'ps', '--all', '--quiet', ...SERVICES)
      .filter((id) => !oldIds.includes(id))
    const logs = newIds
      .map((id) => this.#project.docker('logs', '--tail', '20', id))
      .map(({ stdout, stderr }) => stdout + stderr)
    if (newIds.length > 0) {
      // nginx sends requests to each of them that is healthy; stopping lets them respond.
      await this.#stopEach('new', newIds)
      await this.#project.step('Removing the new containers', 'rm', '--force', ...newIds)
    }
    const reason = this.#stopped.aborted ? 'it was interrupted' : error.message
    const output = [error.output, ...logs].join('\n').trim()
    return new UserError(`nothing was replaced, the old containers still run: ${reason}`, output)
  }
}

/** Returns the revision of the sources, `-dirty` when they were changed; `undefined` without Git. */
function readRevision(): string | undefined {
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--match', '']
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return status === 0 ? stdout.trim() || undefined : undefined
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

/** Returns whether Docker may set a variable: the proxies. */
function isSetByEngine(name: SettingName): boolean {
  return rowOf(name).isProxy === true
}

/** Throws a `UserError` for an app that containers cannot reach. */
function rejectLocalApp(env: Environment): void {
  const app = new SettingsReader(env, []).read('APP_URL')
  if (app && isLocal(app))
    throw new UserError(
      `nothing was built or replaced: APP_URL is http://${app}, which containers cannot reach; name a service of a docker-compose.override.yml.`,
    )
}

/** Throws a `UserError` if npm consumed the flag (`npm run deploy --rollback`), because the command would build instead. */
function rejectTakenFlag(env: Environment): void {
  if (env.npm_config_rollback)
    throw new UserError('npm did not pass --rollback on; write npm run deploy -- --rollback.')
}

if (import.meta.main)
  await runCommand({ name: 'npm run deploy', usage: USAGE, flags: ['rollback'] }, (flags) => {
    const env = withKeptPassword(readEnvironment())
    rejectTakenFlag(env)
    return new Deployment(env, stopSignal()).run(flags.has('rollback') ? 'rollback' : 'build')
  })
