/** Runs the site as the containers of `docker-compose.yml`, and finds out whether Docker can run them. */

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { Environment } from 'contract/settings'
import { type Config, UserError } from './environment.ts'
import { waitUntilHealthy } from './healthcheck.ts'
import type { Session, Stream } from './output.ts'
import { docker } from './programs.ts'
import { runStep, type StepFailed, showProgress } from './progress.mjs'
import { checkHttpPort } from './start/ports.ts'
import { ProcessRun, parentDeathPrefix } from './supervisor.ts'

/** Images that the compose file needs before it can build and start. */
const BASE_IMAGES = ['node:24-slim', 'nginx:1.30']

const PULL_TIMEOUT_MS = 10 * 60_000
const START_TIMEOUT_MS = 20 * 60_000 // the first start builds the images
const STOP_TIMEOUT_MS = 60_000 // Compose itself gives each container its `stop_grace_period`
const ABORT_TIMEOUT_MS = 3_000 // Compose ignores signals while it builds, and would start everything before it stops it
const REMOVAL_TIMEOUT_MS = 20_000 // as long as the slowest container may take to stop
const POLL_MS = 250
const LAST_OUTPUT_MS = 500 // output of a container arrives after the message that it exited

/** Returns the reason why no engine can be used, as half a sentence; `undefined` when one can. */
export function engineProblem(): string | undefined {
  if (!docker('info', '--format', '{{.ServerVersion}}')) return 'no Docker Engine answers'
  const compose = docker('compose', 'version', '--short')
  if (!compose) return 'Docker Compose v2 is not installed'
  if (Number.parseInt(compose.replace(/^v/, ''), 10) < 2) return `Docker Compose is ${compose}, v2 is needed`
  return undefined
}

/** Returns the base images that this engine does not have. */
export function missingImages(): string[] {
  return BASE_IMAGES.filter((image) => !docker('image', 'inspect', '--format', '{{.Id}}', image))
}

/** Pulls the missing base images. Returns the reason when one cannot be pulled. */
export async function pullImages(env: Environment, stopped: AbortSignal): Promise<string | undefined> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(PULL_TIMEOUT_MS)])
  for (const image of missingImages()) {
    const pull = runStep(`Fetching the image ${image}`, ['docker', 'pull', image], { env, signal })
    const reason = await pull.then(
      () => undefined,
      ({ message, output }: StepFailed) => output.split('\n').at(-1) || message,
    )
    if (reason !== undefined) return `the image ${image} cannot be fetched (${reason})`
  }
  return undefined
}

/** Runs the site until `stopped`. Removes its containers and networks, also after an error; volumes stay. */
export async function runDocker(config: Config, session: Session): Promise<void> {
  const { stopped, onUp } = session
  rejectSecondStart(config)
  await checkHttpPort(config)
  const compose = new ComposeUp(config, session)
  const over = new AbortController()
  let isServing = false
  try {
    const aborted = once(stopped, 'abort')
    const polling = AbortSignal.any([stopped, over.signal])
    const healthy = waitUntilHealthy(config, START_TIMEOUT_MS, polling)
    await Promise.race([healthy, compose.failed, aborted]).catch((error) => {
      compose.endStart('failed')
      throw error
    })
    compose.endStart(stopped.aborted ? 'stopped' : 'done')
    isServing = !stopped.aborted
    if (isServing) onUp()
    await Promise.race([compose.failed, aborted])
  } finally {
    over.abort()
    await compose.run.end('SIGTERM', isServing ? STOP_TIMEOUT_MS : ABORT_TIMEOUT_MS)
    await runStep('Removing the containers', ['docker', 'compose', 'down'], composeOptions(config))
  }
}

/** The running `docker compose up`: its progress, the output of its containers, and its failure. */
class ComposeUp {
  readonly run: ProcessRun
  /** Rejects with a `UserError` when Compose ends, or a container fails while the site starts. */
  readonly failed: Promise<never>
  readonly #config: Config
  readonly #output: Session['output']
  readonly #progress = showProgress('Building and starting the containers')
  readonly #fail: (error: UserError) => void
  #isStarting = true

  constructor(config: Config, { output }: Session) {
    this.#config = config
    this.#output = output
    const { promise, reject } = Promise.withResolvers<never>()
    this.failed = promise
    this.#fail = reject
    promise.catch(() => {}) // not awaited while the site is being stopped
    const command = [...parentDeathPrefix(), 'docker', 'compose', '--progress', 'plain', 'up', '--build']
    const program = { command, ...composeOptions(config) }
    this.run = new ProcessRun(program, (line, stream) => this.#readLine(line, stream))
    this.run.ended.then((end) => this.#failWith(end))
  }

  endStart(result: 'done' | 'failed' | 'stopped'): void {
    this.#isStarting = false
    this.#progress.end(result)
  }

  async #failWith(end: string): Promise<void> {
    const isRemoved = !this.#isStarting && (await waitForRemoval(this.#config))
    this.#fail(
      isRemoved
        ? new UserError('the containers were stopped by another command, like docker compose down.')
        : composeError(end, this.run.tail),
    )
  }

  #readLine(line: string, stream: Stream): void {
    const text = stripVTControlCharacters(line)
    const [, container, message] = /^(\S+) +\| ?(.*)$/.exec(text) ?? [] // `tunnel-1  | {"msg":"listening"}`
    if (container !== undefined && message !== undefined) this.#output.log(container, message, stream)
    else this.#readComposeLine(text)
  }

  #readComposeLine(text: string): void {
    this.#output.log('docker', text, 'stdout')
    if (!this.#isStarting) return // later on Compose restarts containers that exit
    const [, step] = /^#\d+ (\[.*)/.exec(text) ?? [] // `#12 [web build 5/9] RUN npm ci`
    if (step) this.#progress.setDetail(step)
    const [, container = '', code] = /^(\S+) exited with code ([1-9]\d*)/.exec(text) ?? []
    if (code) sleep(LAST_OUTPUT_MS).then(() => this.#fail(containerError(container, code, this.run.tail)))
  }
}

function composeError(end: string, output: string): UserError {
  const lines = stripVTControlCharacters(output).split('\n')
  const lastBuilt = lines.findLastIndex((line) => / Built\s*$/.test(line)) // a successful build explains nothing
  return new UserError(`docker compose up ended (${end}).`, lines.slice(lastBuilt + 1).join('\n'))
}

function containerError(container: string, code: string, output: string): UserError {
  const lines = output.split('\n').filter((line) => line.startsWith(`${container} `))
  return new UserError(`${container} did not start (exit code ${code}).`, lines.join('\n'))
}

/** Throws a `UserError` when the containers run already: Compose would take them over, and stopping would remove them. */
function rejectSecondStart(config: Config): void {
  const address = publishedAddress(config)
  if (address)
    throw new UserError(
      `Culvert is already running at http://${address}. To stop it, press Ctrl-C in its terminal or run docker compose down.`,
    )
}

/** Waits until another command has removed the containers: Compose may end before that. Returns whether it has. */
async function waitForRemoval(config: Config): Promise<boolean> {
  for (let waitedMs = 0; publishedAddress(config) && waitedMs < REMOVAL_TIMEOUT_MS; waitedMs += POLL_MS)
    await sleep(POLL_MS)
  return !publishedAddress(config)
}

/** Returns the address at which containers of this project publish the site; empty when none does. */
function publishedAddress(config: Config): string {
  const args = ['compose', 'port', 'nginx', '8080']
  return spawnSync('docker', args, { ...composeOptions(config), encoding: 'utf8' }).stdout.trim()
}

function composeOptions({ root, env }: Config) {
  return { cwd: root, env: { ...env, COMPOSE_ANSI: 'never', COMPOSE_MENU: 'false' } }
}
