/** Starts the whole site with one command, in containers or as plain processes, and stops it again. */

import { isLocal } from 'contract/addresses'
import { INBOX, INBOX_DSN, tunnelUrl } from 'contract/dsn'
import { engineProblem, pullImages, runDocker } from './docker.ts'
import { findLoops } from './dsn-loop.ts'
import {
  type Config,
  ensurePassword,
  keptPassword,
  readConfig,
  readEnvironment,
  runCommand,
  stopSignal,
  UserError,
  warnOfUnknown,
  withKeptPassword,
} from './environment.ts'
import { authorityOf, isUp, siteUrl, urlForPeople } from './healthcheck.ts'
import { Output } from './output.ts'
import { runProcesses } from './processes.ts'
import { LOOPBACK } from './start/ports.ts'
import { describeTunnel, runTunnelOnly } from './start/tunnel-only.ts'

const FLAGS = ['docker', 'plain', 'tunnel-only', 'verbose'] as const

const PUBLISHED_ORIGIN_PORT = 8081 // of deploy/tunnel-origin.yml

type Flags = ReadonlySet<(typeof FLAGS)[number]>

const USAGE = `npm start -- [flags]
  --docker        run in containers (the default if a Docker Engine responds)
  --plain         run as plain processes (the default otherwise)
  --tunnel-only   run one tunnel as a plain process, without nginx and web
  --verbose       print every log line
Settings come from the environment and from the file .env; npm run config prints them.`

const stopped = stopSignal()

await runCommand({ name: 'npm start', usage: USAGE, flags: FLAGS }, async (flags) => {
  await start(flags).catch((error) => {
    if (!stopped.aborted) throw error // a step that is stopped on the way is no failure
  })
  console.log('Stopped.')
})

async function start(flags: Flags): Promise<void> {
  const env = readEnvironment()
  warnOfUnknown(env)
  rejectFlags(flags, env)
  const { env: given, ...settings } = readConfig(env)
  ensurePassword(given)
  const config = { ...settings, env: withKeptPassword(given) }
  const output = new Output(flags.has('verbose') ? 'verbose' : 'summary', console.log)
  const { run, sentence } = await chooseMode(config, flags)
  const originForServers = run === runProcesses ? originOf(config.tunnelOriginPort) : publishedOrigin(config)
  stopped.throwIfAborted() // the same Ctrl-C ends a pull, which is no reason for plain processes
  output.print(sentence)

  function onUp(): void {
    const describe = run === runTunnelOnly ? welcomeTunnel : welcome
    output.print(describe(config, keptPassword(given), originForServers))
    output.release()
    void findLoops(config.env).then((sentences) => {
      for (const sentence of sentences) console.error(sentence)
    })
    if (config.app && run !== runTunnelOnly) void isUp(`${siteUrl(config)}/`, { method: 'HEAD' }) // nginx logs it when the app does not respond
  }

  await run(config, { output, stopped, onUp })
}

/** Throws a `UserError` for flags that exclude each other, or that npm consumed (`npm start --plain`). */
function rejectFlags(flags: Flags, env: Config['env']): void {
  const taken = FLAGS.find((flag) => flag !== 'verbose' && env[`npm_config_${flag.replace('-', '_')}`])
  if (taken) throw new UserError(`npm did not pass --${taken} on; write npm start -- --${taken}.`)
  const other = FLAGS.find((flag) => /^(plain|tunnel-only)$/.test(flag) && flags.has(flag))
  if (flags.has('docker') && other)
    throw new UserError(`--docker and --${other} exclude each other.\n${USAGE}`)
}

/** Chooses between containers and processes. Throws a `UserError` when containers were asked for and cannot run. */
async function chooseMode({ env, app }: Config, flags: Flags) {
  if (flags.has('tunnel-only'))
    return { run: runTunnelOnly, sentence: 'Running a tunnel only, without nginx and web (--tunnel-only).' }
  if (flags.has('plain')) return { run: runProcesses, sentence: 'Running as plain processes (--plain).' }
  if (app && isLocal(app)) {
    const problem = `APP_URL is http://${app}, which containers cannot reach`
    if (flags.has('docker'))
      throw new UserError(
        `${problem}; leave out --docker, or name a service of a docker-compose.override.yml.`,
      )
    return { run: runProcesses, sentence: `Running as plain processes: ${problem}.` }
  }
  const problem = engineProblem() ?? (await pullImages(env, stopped))
  if (problem === undefined)
    return {
      run: runDocker,
      sentence: 'Running in containers (npm start -- --plain runs plain processes).',
    }
  if (flags.has('docker')) throw new UserError(`--docker is set, but ${problem}.`)
  return { run: runProcesses, sentence: `Running as plain processes: ${problem}.` }
}

/** Returns the origin for servers on this machine, if the containers publish it. */
function publishedOrigin({ env }: Config): string | undefined {
  return env.COMPOSE_FILE?.includes('deploy/tunnel-origin.yml') ? originOf(PUBLISHED_ORIGIN_PORT) : undefined
}

function originOf(port: number): string {
  return `http://${authorityOf(LOOPBACK, port)}`
}

/** Says where reports can be read without a Sentry, and how an SDK sends them. */
function describeInbox(config: Config): string[] {
  const { tunnelPath } = config
  return [
    `  Reports are stored in the inbox, because SENTRY_DSN is not set: ${urlForPeople(config)}/console/inbox`,
    `  In your app: Sentry.init({ dsn: '${INBOX_DSN}', tunnel: '${tunnelUrl(tunnelPath, INBOX)}' })`,
    `  Or in the head of a page: <script src="${tunnelPath}/sdk.js" crossorigin></script>`,
  ]
}

function hasSentry({ env }: Config): boolean {
  return Boolean(env.SENTRY_DSN?.trim() || env.SENTRY_DSN_FILE)
}

/** Same condition as in web. */
function hasLab(config: Config): boolean {
  return config.env.LAB ? config.env.LAB === 'on' : !hasSentry(config)
}

function describePassword(generated: string | undefined): string[] {
  return generated ? [`  Operator's password: ${generated} (kept in .culvert/operator-password)`] : []
}

function welcomeTunnel(config: Config, generatedPassword?: string): string {
  const destination = hasSentry(config)
    ? '  Reports are forwarded to Sentry.'
    : '  Reports are stored in the inbox, because SENTRY_DSN is not set. docs/proxies.md shows how to add the console.'
  return [
    ...describeTunnel(config),
    destination,
    ...describePassword(generatedPassword),
    '  Ctrl-C stops it.',
  ].join('\n')
}

function welcome(config: Config, generatedPassword?: string, originForServers?: string): string {
  const lines = [
    `Culvert runs at ${urlForPeople(config)}`,
    ...(hasSentry(config) ? ['  Reports are forwarded to Sentry.'] : describeInbox(config)),
    `  Set-up, step by step: ${urlForPeople(config)}/console/setup`,
    ...describePassword(generatedPassword),
    ...(config.app
      ? [
          `  It is in front of your app at http://${config.app}. The console is at /console${hasLab(config) ? ', the lab at /lab' : ''}.`,
        ]
      : []),
    ...(originForServers ? [`  For servers: TUNNEL_ORIGIN=${originForServers}`] : []),
    '  Ctrl-C stops it.',
  ]
  return lines.join('\n')
}
