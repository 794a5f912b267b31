/** Brings the whole site up with one command, and takes all of it down again. */

import { join, resolve } from 'node:path'
import { findMisspelt } from '../tunnel/src/config/setting-names.ts'
import { wallClock } from './clock.ts'
import { readConfig, readEnvironment, USAGE } from './environment.ts'
import { siteOf } from './healthcheck.ts'
import { wantsHelp } from './help.ts'
import { ownPassword } from './operator-password.ts'
import { createReport, welcome } from './output.ts'
import { chooseWay } from './run-mode.ts'
import { runDocker } from './start-docker.ts'
import { runPlain } from './start-processes.ts'

const stop = new AbortController()
const stopped = stop.signal
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop.abort())

try {
  if (wantsHelp(process.argv)) console.log(USAGE)
  else await runUntilStopped()
} catch (error) {
  explain(error as Error)
}

async function runUntilStopped(): Promise<void> {
  await start().catch((error) => {
    if (!stopped.aborted) throw error // what is given up half done on the way to a stop is no failure
  })
  console.log('Stopped.')
}

async function start(): Promise<void> {
  const root = resolve(import.meta.dirname, '..')
  const env = readEnvironment(root)
  for (const sentence of findMisspelt(env)) console.error(sentence)
  const asked = readConfig(root, process.argv.slice(2), env)
  const password = ownPassword(join(asked.stateFolder, 'operator-password'), asked.env)
  const config = { ...asked, env: { ...asked.env, ...(password && { OPERATOR_PASSWORD: password }) } }
  const report = createReport(config.output, console.log)
  const choice = await chooseWay(config, stopped)
  stopped.throwIfAborted() // the same Ctrl-C ends the engine's answer, which is no reason for the other way
  report.say(choice.sentence)

  function onUp(): void {
    report.say(welcome(config, siteOf(config).address, password))
    report.open()
  }

  const run = choice.way === 'docker' ? runDocker : runPlain
  await run(config, { clock: wallClock, report, stopped, onUp })
}

/** A reason of the world is a sentence, after what a process said about it; a mistake of ours keeps its stack. */
function explain(error: Error & { output?: string }): void {
  process.exitCode = 1
  if (error.output) console.error(error.output)
  console.error(error.output === undefined ? error : `culvert: ${error.message}`)
}
