/** Reads flags and settings for the commands, and prints their errors. The only module of the scripts that reads the environment. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { DescribedSettings } from 'contract/described-settings'
import { findOwnDsns } from 'contract/own-dsns'
import { type Environment, rowOf, SETTING_NAMES, type SettingName } from 'contract/settings'
import { readPageSettings, SettingsReader } from 'contract/settings-reader'
import { findUnknown } from 'contract/unknown-settings'
import { readConfig as readWebConfig } from '../web/lib/config.ts'

/** Root of the work tree. */
export const ROOT = resolve(import.meta.dirname, '..')

/** Folder of everything that is written at run time, outside of builds. */
export const STATE_FOLDER = join(ROOT, '.culvert')

const PASSWORD_FILE = join(STATE_FOLDER, 'operator-password')
const PASSWORD_BYTES = 18 // 24 characters of base64url

export type Config = {
  root: string
  stateFolder: string
  httpHost: string
  httpPort: number
  /** Port for envelopes of servers on this machine, as plain processes. */
  tunnelOriginPort: number
  /** Path that browsers post to. */
  tunnelPath: string
  /** Address of the operator's app as `host:port`, if there is one. */
  app: string | undefined
  /** Path of the connection check, a page of web. */
  checkPath: string
  env: Environment
}

export type Command<Flag extends string> = {
  /** Command as the user types it, like `npm start`. */
  name: string
  usage: string
  flags: readonly Flag[]
}

/** Error that the user can correct: printed as a sentence, without a stack. */
export class UserError extends Error {
  /** Output of a process that explains the error; empty when the sentence suffices. */
  readonly output: string

  constructor(sentence: string, output = '') {
    super(sentence)
    this.output = output
  }
}

/** Runs a command with the flags that were given, and exits: prints its usage for --help, and errors with exit code 1. */
export async function runCommand<Flag extends string>(
  command: Command<Flag>,
  run: (given: Set<Flag>) => void | Promise<void>,
): Promise<never> {
  const args = process.argv.slice(2)
  try {
    if (args.includes('--help') || args.includes('-h')) console.log(command.usage)
    else await run(readFlags(command, args))
  } catch (error) {
    explain(error as Error)
  }
  // Without `exit`, Node removes the signal handlers before it ends. Ctrl-C arrives more than once, from the terminal, npm and bootstrap: a late
  // signal would replace the exit code.
  process.exit()
}

function readFlags<Flag extends string>({ name, usage, flags }: Command<Flag>, args: string[]): Set<Flag> {
  const unknown = args.find((arg) => !flags.some((flag) => arg === `--${flag}`))
  if (unknown !== undefined) throw new UserError(`"${unknown}" is not a flag of ${name}.\n${usage}`)
  return new Set(flags.filter((flag) => args.includes(`--${flag}`)))
}

/** Prints an expected error as a sentence, after the output that explains it; others with their stack. */
export function explain(error: Error & { output?: string }): void {
  process.exitCode = 1
  if (error.output) console.error(error.output)
  console.error(error.output === undefined ? error : `culvert: ${error.message}`)
}

/** Returns a signal that aborts when this process is asked to end. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => controller.abort())
  return controller.signal
}

/** Returns the environment of this process over the file `.env`, which Compose reads too. */
export function readEnvironment(): Environment {
  const file = join(ROOT, '.env')
  return { ...(existsSync(file) && parseEnv(readFileSync(file, 'utf8'))), ...process.env }
}

/** Prints a warning for each name that was a setting, or looks like a misspelt one. */
export function warnOfUnknown(env: Environment): void {
  for (const sentence of findUnknown(env)) console.error(sentence)
}

/** Generates an operator password for this and later runs if none is set or stored. */
export function ensurePassword(env: Environment): void {
  if (isPasswordSet(env) || existsSync(PASSWORD_FILE)) return
  mkdirSync(dirname(PASSWORD_FILE), { recursive: true })
  writeFileSync(PASSWORD_FILE, `${randomBytes(PASSWORD_BYTES).toString('base64url')}\n`, { mode: 0o600 })
}

/** Returns the generated operator password; `undefined` when one is set, or none was generated. */
export function keptPassword(env: Environment): string | undefined {
  return isPasswordSet(env) || !existsSync(PASSWORD_FILE)
    ? undefined
    : readFileSync(PASSWORD_FILE, 'utf8').trim()
}

/** Returns the environment with the generated operator password, if there is one. */
export function withKeptPassword(env: Environment): Environment {
  const password = keptPassword(env)
  return { ...env, ...(password && { OPERATOR_PASSWORD: password }) }
}

function isPasswordSet(env: Environment): boolean {
  return Boolean(env.OPERATOR_PASSWORD || env.OPERATOR_PASSWORD_FILE)
}

/** Reads the settings of the site. Throws a `UserError` that names every problem. */
export function readConfig(env: Environment): Config {
  rejectWrongSettings(env, 'cannot start')
  const settings = new SettingsReader(env, [])
  const httpPort = settings.read('HTTP_PORT')
  return {
    root: ROOT,
    stateFolder: STATE_FOLDER,
    httpHost: settings.read('HTTP_HOST'),
    httpPort,
    tunnelOriginPort: httpPort + 1,
    tunnelPath: settings.read('TUNNEL_PATHS')[0] ?? '',
    ...readPageSettings(settings),
    env,
  }
}

/** Throws a `UserError` that names every problem with the settings; `consequence` begins its sentence. */
export function rejectWrongSettings(env: Environment, consequence: string): void {
  const problems: string[] = []
  const settings = new SettingsReader(env, problems)
  for (const name of SETTING_NAMES.filter(isOfCompose)) settings.read(name)
  const shared = new SettingsReader(env, [])
  const published = [String(shared.read('HTTP_PORT'))]
  const targets = shared.read('MIRROR_DSN').map(({ target }) => target)
  const own = [
    ...findOwnDsns(shared.read('SENTRY_DSN'), published),
    ...findOwnDsns(targets, published, 'MIRROR_DSN'),
  ]
  const all = [
    ...describeTunnelSettings(env).problems,
    ...webProblems(env),
    ...own,
    ...profileProblems(shared, env),
  ]
  problems.push(...new Set(all)) // some settings concern several
  if (problems.length > 0)
    throw new UserError(`${consequence}, ${problems.length} problem(s):\n${problems.join('\n')}`)
}

/** Service NATS of `docker-compose.yml`, and the profile in which it runs. */
const [NATS_SERVER, NATS_PROFILE] = ['nats:4222', 'cluster']

function profileProblems(settings: SettingsReader, env: Environment): string[] {
  const place = settings.read('SPOOL_URL')
  const profiles = env.COMPOSE_PROFILES?.split(',') ?? []
  const needsNats = 'nats' in place && place.nats.servers.includes(NATS_SERVER)
  if (!needsNats || profiles.some((profile) => [NATS_PROFILE, '*'].includes(profile.trim()))) return []
  return [
    `SPOOL_URL: the service nats runs only with COMPOSE_PROFILES=${NATS_PROFILE}; add that line to .env, or write the address of your own server`,
  ]
}

/** Returns whether only the compose files read a setting: Docker would reject it only after it has built the images. */
function isOfCompose(name: SettingName): boolean {
  return rowOf(name).readBy.join() === 'compose'
}

/** Runs the tunnel's own check of the settings. */
export function describeTunnelSettings(env: Environment): DescribedSettings {
  const program = join(ROOT, 'tunnel/src/commands/describe.ts')
  return JSON.parse(execFileSync(process.execPath, [program, 'settings'], { encoding: 'utf8', env }))
}

function webProblems(env: Environment): string[] {
  const problems: string[] = []
  readWebConfig(env, problems)
  return problems
}
