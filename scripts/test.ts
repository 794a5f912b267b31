/** Runs the tests: brings what they need to this machine, and ends with how many passed, failed and were skipped. */

import { resolve } from 'node:path'
import { parseCLI, startVitest } from 'vitest/node'
import { buildWeb } from './build-web.ts'
import { canInstall, install } from './debian-packages.ts'
import { readEnvironment } from './environment.ts'
import { CHROMIUM, findProgram } from './find-program.ts'
import { bringNatsServer } from './nats-server.ts'
import type { StepFailed } from './progress.mjs'
import { createTally, type Tally } from './test-reporter.ts'
import { readLeave, tellSkips } from './test-skips.ts'

const root = resolve(import.meta.dirname, '..')
const env = readEnvironment(root)
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
if (filter.length === 0) options.project ??= ['!stack'] // whole stacks in containers take long: npm run test:stack

const isUnitOnly = [options.project].flat().every((name) => name === 'unit') // in process: they need no program and no build
if (filter.length === 0 && !isUnitOnly) await bringAll() // who names files wants them at once; what they lack they build or skip
const tally = await runTests()
const refused = tellSkips(tally.skips, env.CI ? readLeave(root) : undefined, console.log)
console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skips.size} skipped`)
process.exit(tally.failed > 0 || tally.passed === 0 || refused > 0 ? 1 : 0)

/** What cannot be brought is told, and the tests that need it say that they are skipped, or fail. */
async function bringAll(): Promise<void> {
  await bringProgram('nginx-light', ['nginx'])
  await bringProgram('chromium', CHROMIUM)
  await bringProgram('strace', ['strace'])
  await bringProgram('prometheus', ['promtool'])
  bringNatsServer(root, env.PATH ?? '')
  await buildWeb(root, env).catch(explain)
}

async function bringProgram(debianPackage: string, names: string[]): Promise<void> {
  if (findProgram(names, env.PATH ?? '') || !canInstall(env)) return
  await install(debianPackage, env).catch(explain)
}

function explain(error: StepFailed): void {
  console.error(error.output)
  console.error(`culvert: ${error.message}`)
}

async function runTests(): Promise<Tally> {
  const done = Promise.withResolvers<Tally>()
  const reporters = ['default', createTally(done.resolve)]
  const vitest = await startVitest(filter, { ...options, root, watch: false, reporters })
  await vitest.close()
  return done.promise
}
