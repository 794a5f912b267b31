/** What a script was asked for, by flags and by the environment: the only file of the scripts that looks there. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { BadSettings, readConfig as readTunnelConfig } from '../tunnel/src/config/config.ts'
import { type Environment, rowOf, SETTING_NAMES, type SettingName } from '../tunnel/src/config/settings.ts'
import { SettingsReader } from '../tunnel/src/config/settings-reader.ts'
import { readConfig as readWebConfig } from '../web/lib/config.ts'
import { UserError } from './user-error.ts'

export type Config = {
  /** The work tree. */
  root: string
  /** Where everything is kept that is made at run time. */
  stateFolder: string
  /** Which way to run: as asked for, or whichever this machine can. */
  way: 'docker' | 'plain' | 'any'
  /** Whether every line of every process is shown, or what a person wants to know. */
  output: 'all' | 'told'
  httpHost: string
  httpPort: number
  /** The path browsers post to. */
  tunnelPath: string
  /** Everything the processes are started with. */
  env: Environment
}

const WAYS = ['docker', 'plain'] as const

export const USAGE = `npm start -- [flags]
  --docker, --plain   in containers, or as plain processes; without either, containers where a Docker Engine answers
  --verbose           every line of every process
Settings stand in the environment or in a file .env; npm run config shows those in force.`

/** The environment of this process, with what the file `.env` adds to it, as Compose reads it too. */
export function readEnvironment(root: string): Environment {
  const file = join(root, '.env')
  return { ...(existsSync(file) && parseEnv(readFileSync(file, 'utf8'))), ...process.env }
}

/** Reads flags and settings. Throws a `Refusal` that names every problem. */
export function readConfig(root: string, flags: string[], env: Environment): Config {
  const asked = readFlags(flags, env)
  refuseWrong(env, 'cannot start')
  const settings = new SettingsReader(env, [])
  return {
    ...asked,
    root,
    stateFolder: join(root, '.culvert'),
    ...readSite(settings),
    tunnelPath: settings.read('TUNNEL_PATHS')[0] ?? '',
    env,
  }
}

/** Throws a `Refusal` that names every problem with the settings, before anything is built from them; `what` cannot be done then. */
export function refuseWrong(env: Environment, what: string): void {
  const problems: string[] = []
  const settings = new SettingsReader(env, problems)
  for (const name of SETTING_NAMES.filter(isOfCompose)) settings.read(name)
  problems.push(...new Set([...tunnelProblems(env), ...webProblems(env)])) // some settings concern both
  if (problems.length > 0)
    throw new UserError(`${what}, ${problems.length} problem(s):\n${problems.join('\n')}`)
}

/** Settings that only the compose files read: Docker would refuse them after it has built all. */
function isOfCompose(name: SettingName): boolean {
  return rowOf(name).readBy.join() === 'compose'
}

/** Returns where the site is published. */
function readSite(settings: SettingsReader): Pick<Config, 'httpHost' | 'httpPort'> {
  return { httpHost: settings.read('HTTP_HOST'), httpPort: settings.read('HTTP_PORT') }
}

/** What the tunnel would refuse, told before anything is built. */
function tunnelProblems(env: Environment): string[] {
  try {
    readTunnelConfig(env)
    return []
  } catch (error) {
    if (error instanceof BadSettings) return error.problems
    throw error
  }
}

/** What web would refuse, likewise. */
function webProblems(env: Environment): string[] {
  const problems: string[] = []
  readWebConfig(env, problems)
  return problems
}

function readFlags(flags: string[], env: Environment): Pick<Config, 'way' | 'output'> {
  const taken = WAYS.find((way) => env[`npm_config_${way}`]) // `npm start --plain`: npm takes it for one of its own
  if (taken) throw new UserError(`npm has kept --${taken} to itself; write npm start -- --${taken}.`)
  const unknown = flags.find((flag) => !['--docker', '--plain', '--verbose'].includes(flag))
  if (unknown !== undefined) throw new UserError(`"${unknown}" is not a flag of npm start.\n${USAGE}`)
  const ways = WAYS.filter((way) => flags.includes(`--${way}`))
  if (ways.length > 1) throw new UserError(`--docker and --plain exclude each other.\n${USAGE}`)
  return { way: ways[0] ?? 'any', output: flags.includes('--verbose') ? 'all' : 'told' }
}
