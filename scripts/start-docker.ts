/** The Docker way: the containers of `docker-compose.yml`, for as long as this runs. */

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import { type Stream, startRun } from './child-process.ts'
import type { Clock } from './clock.ts'
import type { Config } from './environment.ts'
import { siteOf, untilAnswers } from './healthcheck.ts'
import { lifeline } from './parent-watch.ts'
import { checkPort } from './ports.ts'
import { runStep, showProgress } from './progress.mjs'
import type { Session } from './run-context.ts'
import { UserError } from './user-error.ts'

const START_TIMEOUT = 20 * 60 * 1000 // 20 min: the first time, images are built
const STOP_TIMEOUT = 60 * 1000 // 1 min; Compose itself gives each container its `stop_grace_period`
const BREAK_OFF_TIMEOUT = 3 * 1000 // 3 s: Compose heeds no signal while it builds, and would start all of it before it stops it
const ENDED = 'the containers were stopped by another command, like docker compose down.'
const REMOVED_WITHIN = 20 * 1000 // 20 s, as long as the slowest container may take to stop
const LOOK_EVERY = 250 // ms
const LAST_WORDS = 500 // ms: what a container said comes after the news of its end

/** Runs the site until `stopped`. Then, or when it cannot go on, removes every container and network; volumes stay. */
export async function runDocker(config: Config, session: Session): Promise<void> {
  const { clock, stopped, onUp } = session
  refuseIfUp(config)
  await checkPort(config.httpHost, config.httpPort)
  const compose = startCompose(config, session)
  const over = new AbortController()
  let isServing = false
  try {
    const aborted = once(stopped, 'abort')
    const asking = AbortSignal.any([stopped, over.signal])
    const up = untilAnswers(siteOf(config), START_TIMEOUT, clock, asking)
    await Promise.race([up, compose.failed, aborted]).catch(compose.giveUp)
    compose.endStart(stopped.aborted ? 'stopped' : 'done')
    isServing = !stopped.aborted
    if (isServing) onUp()
    await Promise.race([compose.failed, aborted])
  } finally {
    over.abort()
    await compose.run.end('SIGTERM', isServing ? STOP_TIMEOUT : BREAK_OFF_TIMEOUT)
    await runStep('Removing the containers', ['docker', 'compose', 'down'], inRoot(config))
  }
}

function startCompose(config: Config, { clock, report }: Session) {
  const progress = showProgress('Building and starting the containers')
  const failure = Promise.withResolvers<never>()
  const command = [...lifeline(), 'docker', 'compose', '--progress', 'plain', 'up', '--build']
  let isStarting = true
  const run = startRun({ command, ...inRoot(config) }, clock, hear)
  run.ended.then(async (end) => {
    const removed = !isStarting && (await areRemoved(config, clock))
    failure.reject(removed ? new UserError(ENDED) : failed(end, run.tail()))
  })
  failure.promise.catch(() => {}) // nobody listens once the site is being stopped

  function hear(line: string, stream: Stream): void {
    const text = stripVTControlCharacters(line)
    const [, container, said] = /^(\S+) +\| ?(.*)$/.exec(text) ?? [] // `tunnel-1  | {"msg":"listening"}`
    if (container !== undefined && said !== undefined) report.line(container, said, stream)
    else hearCompose(text)
  }

  function hearCompose(text: string): void {
    report.line('docker', text, 'stdout')
    if (!isStarting) return // later on it starts again by itself what ends
    const [, step] = /^#\d+ (\[.*)/.exec(text) ?? [] // `#12 [web build 5/9] RUN npm ci`
    if (step) progress.at(step)
    const [, container = '', code] = /^(\S+) exited with code ([1-9]\d*)/.exec(text) ?? []
    if (code) clock.wait(LAST_WORDS).then(() => failure.reject(refusalOf(container, code, run.tail())))
  }

  function endStart(result: 'done' | 'failed' | 'stopped'): void {
    isStarting = false
    progress.end(result)
  }

  function giveUp(error: Error): never {
    endStart('failed')
    throw error
  }

  return { run, failed: failure.promise, endStart, giveUp }
}

function failed(end: string, output: string): UserError {
  const lines = stripVTControlCharacters(output).split('\n')
  const built = lines.findLastIndex((line) => / Built\s*$/.test(line)) // a build that went well explains nothing
  return new UserError(`docker compose up ended (${end}).`, lines.slice(built + 1).join('\n'))
}

function refusalOf(container: string, code: string, output: string): UserError {
  const words = output.split('\n').filter((line) => line.startsWith(`${container} `))
  return new UserError(`${container} did not start (exit code ${code}).`, words.join('\n'))
}

/** Compose would take the containers of another start over, on whichever port they are, and our end would remove them. */
function refuseIfUp(config: Config): void {
  const address = publishedAt(config)
  if (address)
    throw new UserError(
      `Culvert runs already, at http://${address}; Ctrl-C where it was started or docker compose down stops it.`,
    )
}

/** Compose may end, or break, when another command has stopped the containers but has not removed all of them yet. */
async function areRemoved(config: Config, clock: Clock): Promise<boolean> {
  for (let waited = 0; publishedAt(config) && waited < REMOVED_WITHIN; waited += LOOK_EVERY)
    await clock.wait(LOOK_EVERY)
  return !publishedAt(config)
}

/** Where containers of this project publish the site; empty when none does. */
function publishedAt(config: Config): string {
  const port = ['compose', 'port', 'nginx', '8080']
  return spawnSync('docker', port, { ...inRoot(config), encoding: 'utf8' }).stdout.trim()
}

function inRoot({ root, env }: Config) {
  return { cwd: root, env: { ...env, COMPOSE_ANSI: 'never', COMPOSE_MENU: 'false' } }
}
