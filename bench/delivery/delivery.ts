/**
 * Counts how many errors of real browsers arrive, by Culvert and by its alternatives:
 * `npm run bench:delivery -- [--out FOLDER] [--quick] [--publish] [--only WORDS]`. Writes `delivery.md`, `delivery.json` and `delivery.svg` into the
 * folder, and its tables into `docs/benchmarks.md` with --publish.
 */

import { unmet } from '../../tests/support/requirements.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { describeLoad, describeMachine } from '../report/machine.ts'
import { putIntoPage } from '../report/publish.ts'
import { logSteps, runInWords, writeFound } from '../report/run.ts'
import { drawChart } from './chart.ts'
import { check } from './check.ts'
import { FULL, QUICK, readArguments } from './plan.ts'
import { type RunOptions, runAll } from './results.ts'
import { ALL_PHASES, FEW_PHASES } from './scenarios.ts'
import { bundleApp } from './subjects/files-app.ts'
import { buildPeers } from './subjects/peers.ts'
import { drawTables } from './table.ts'

await runInWords(run)

async function run(): Promise<void> {
  const { quick, folder, publish, only } = readArguments(process.argv.slice(2))
  const missing = unmet('chromium', 'nginx')
  if (missing) throw new Error(`this cannot be measured here: ${missing}`)
  await using pages = await makeFolder()
  const options = quick ? await quickRun(pages.path) : await fullRun()
  const about = [describeMachine(), describeLoad()].join(', ')
  const results = await runAll(options, ({ title }) => only.some((words) => title.includes(words)))
  check(results, options.plan)

  const tables = `${about}; rounds: ${options.plan.rounds}; SDKs: ${results.sdks.join(', ')}.\n\n${drawTables(results)}`
  await writeFound(folder, 'delivery', {
    tables,
    figures: { about, plan: options.plan, ...results },
    picture: drawChart(results, about),
  })
  if (publish) await putIntoPage('delivery', tables)
}

async function fullRun(): Promise<RunOptions> {
  const app = await buildPeers()
  const subjects = ['direct', 'tunnelRoute', 'handler', 'culvert'] as const
  return { app, subjects, phases: ALL_PHASES, plan: FULL, onStep: logSteps(performance.now()) }
}

/** Scenarios and subjects that need no installation. */
async function quickRun(folder: string): Promise<RunOptions> {
  const app = await bundleApp(folder)
  const subjects = ['direct', 'handler', 'culvert'] as const
  return { app, subjects, phases: FEW_PHASES, plan: QUICK, onStep: logSteps(performance.now()) }
}
