/** Replaces web and the tunnels by what stands here, under load: new ones beside the old, healthy and known to nginx, and only then the old ones stop. */

import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { findMisspelt } from '../tunnel/src/config/setting-names.ts'
import type { Environment } from '../tunnel/src/config/settings.ts'
import { wallClock } from './clock.ts'
import { engineProblem } from './docker-engine.ts'
import { readEnvironment, refuseWrong } from './environment.ts'
import { wantsHelp } from './help.ts'
import { withLock } from './lock.mjs'
import { lostSettings } from './missing-settings.ts'
import { keptPassword } from './operator-password.ts'
import { runStep } from './progress.mjs'
import { UserError } from './user-error.ts'

const SERVICES = ['tunnel', 'web']
const HEALTHY_WITHIN = 120 // s
const NOTICED_AFTER = 5 * 1000 // 5 s: nginx looks names up every 2 s, and waits 2 s for the answer

const USAGE = `npm run deploy
  builds the images of web and the tunnel from what stands here, starts new containers beside the old, waits until they are healthy
  and nginx knows them, and then stops the old. It takes no flags. Settings are those of npm start; wrong ones are refused first.`

const root = resolve(import.meta.dirname, '..')
const env = deployEnvironment()
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop.abort())

try {
  if (wantsHelp(process.argv)) console.log(USAGE)
  else await deployAlone()
} catch (error) {
  const { message, output, stack } = error as Error & { output?: string }
  if (output) console.error(output)
  console.error(output === undefined ? stack : `culvert: ${message}`)
  process.exitCode = 1
}

/** As `npm start` would start them, with the password that it has made. */
function deployEnvironment(): Environment {
  const given = readEnvironment(root)
  const password = keptPassword(join(root, '.culvert/operator-password'), given)
  return { ...given, ...(password && { OPERATOR_PASSWORD: password }) }
}

async function deployAlone(): Promise<void> {
  const [unknown] = process.argv.slice(2)
  if (unknown !== undefined) throw new UserError(`"${unknown}" is not a flag of npm run deploy.\n${USAGE}`)
  for (const sentence of findMisspelt(env)) console.error(sentence)
  refuseWrong(env, 'nothing was built or replaced')
  const problem = engineProblem()
  if (problem !== undefined) throw new UserError(`nothing was built or replaced: ${problem}.`)
  await withLock(join(root, '.culvert/deploy.lock'), deploy, () =>
    console.log('Another deploy is under way …'),
  )
  console.log('Deployed.')
}

async function deploy(): Promise<void> {
  const old = SERVICES.map((service) => ({ service, ids: idsOf('ps', '--quiet', service) }))
  const oldIds = old.flatMap(({ ids }) => ids)
  if (oldIds.length === 0)
    throw new UserError(
      'no containers of Culvert run here; start them with docker compose up --build --detach.',
    )
  refuseLosses(oldIds)

  await compose('Building the images', 'build', ...SERVICES)
  try {
    const beside = old.flatMap(({ service, ids }) => ['--scale', `${service}=${Math.max(1, ids.length * 2)}`])
    const waiting = ['--wait', '--wait-timeout', String(HEALTHY_WITHIN)]
    const asTheyAre = ['--detach', '--no-deps', '--no-recreate']
    await compose('Starting new ones beside the old', 'up', ...asTheyAre, ...waiting, ...beside, ...SERVICES)
    await wallClock.wait(NOTICED_AFTER, stop.signal)
    stop.signal.throwIfAborted()
  } catch (error) {
    throw await removeNew(oldIds, error as Error)
  }
  await runStep('Stopping the old ones', ['docker', 'stop', ...oldIds], { env })
  await runStep('Removing them', ['docker', 'rm', ...oldIds], { env })
}

/** They were started from a shell that had settings which this one has not: without them, a tunnel would refuse what it has carried. */
function refuseLosses(oldIds: string[]): void {
  const { stdout } = ask('inspect', '--format', '{{json .Config.Env}}', ...oldIds)
  const held = stdout.split('\n').flatMap((line) => (line ? (JSON.parse(line) as string[]) : []))
  const [lost, ...more] = lostSettings(held, env)
  if (lost !== undefined)
    throw new UserError(
      `nothing was built or replaced: what runs has settings that are not set here, ${[lost, ...more].join(', ')}. Put them into .env; one that is to go is set to nothing (${lost}= npm run deploy).`,
    )
}

/** Leaves everything as it was, and gives the reason with what the new ones said. */
async function removeNew(oldIds: string[], error: Error & { output?: string }): Promise<UserError> {
  const newIds = idsOf('ps', '--all', '--quiet', ...SERVICES).filter((id) => !oldIds.includes(id))
  const said = newIds
    .map((id) => ask('logs', '--tail', '20', id))
    .map(({ stdout, stderr }) => stdout + stderr)
  if (newIds.length > 0)
    await runStep('Removing the new ones', ['docker', 'rm', '--force', ...newIds], { env })
  const reason = stop.signal.aborted ? 'it was interrupted' : error.message
  const output = [error.output, ...said].join('\n').trim()
  return new UserError(`nothing was replaced, the old ones serve on: ${reason}`, output)
}

function idsOf(...args: string[]): string[] {
  return ask('compose', ...args)
    .stdout.split('\n')
    .filter(Boolean)
}

function ask(...args: string[]) {
  return spawnSync('docker', args, { cwd: root, env, encoding: 'utf8' })
}

function compose(title: string, ...args: string[]): Promise<void> {
  return runStep(title, ['docker', 'compose', ...args], { cwd: root, env, signal: stop.signal })
}
