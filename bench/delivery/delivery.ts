/**
 * Counts how many errors of real browsers arrive, by Culvert and by its alternatives:
 * `npm run bench:delivery -- [--out FOLDER] [--quick] [--publish] [--only WORDS]`. Writes `delivery.md`, `delivery.json` and `delivery.svg`
 * (reports that an SDK has sent) and `loading.md` and `loading.json` (errors raised in the page) into the folder, and the tables into
 * `docs/benchmarks.md` with --publish.
 */

import { unmet } from '../../tests/support/requirements.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { describeLoad, describeMachine } from '../report/machine.ts'
import { putIntoPage } from '../report/publish.ts'
import { logSteps, runInWords, writeFound } from '../report/run.ts'
import { drawChart } from './chart.ts'
import { check } from './check.ts'
import { runLoading } from './loading/loading.ts'
import { SITUATIONS } from './loading/situations.ts'
import { checkLoading, drawLoading } from './loading/table.ts'
import { type Arguments, FULL, QUICK, readArguments } from './plan.ts'
import { type RunOptions, runAll } from './results.ts'
import { ALL_PHASES, FEW_PHASES } from './scenarios.ts'
import { bundleApp } from './subjects/files-app.ts'
import { buildPeers } from './subjects/peers.ts'
import type { SubjectName } from './subjects/subjects.ts'
import { drawTable } from './table.ts'

type Run = {
  options: RunOptions
  /** Subjects of the situations in which the SDK or the connection is missing. */
  loaded: readonly SubjectName[]
  arguments: Arguments
  isWanted(of: { title: string }): boolean
  about: string
}

await runInWords(run)

async function run(): Promise<void> {
  const given = readArguments(process.argv.slice(2))
  const missing = unmet('chromium', 'nginx')
  if (missing) throw new Error(`this cannot be measured here: ${missing}`)
  await using pages = await makeFolder()
  const prepared = given.quick ? await quickRun(pages.path) : await fullRun()
  const isWanted = ({ title }: { title: string }) => given.only.some((words) => title.includes(words))
  const about = [describeMachine(), describeLoad()].join(', ')
  const run = { ...prepared, arguments: given, isWanted, about }
  const parts = [
    ...(run.options.phases.flat(2).some(isWanted) ? [measureReports] : []),
    ...(SITUATIONS.some(isWanted) ? [measureErrors] : []),
  ]
  if (given.quick) await Promise.all(parts.map((measure) => measure(run)))
  else for (const measure of parts) await measure(run) // together they would slow each other down
}

/** Measures the share of the reports that the SDK has sent. */
async function measureReports({ options, arguments: given, isWanted, about }: Run): Promise<void> {
  const results = await runAll(options, isWanted)
  check(results, options.plan)
  const tables = `${about}; rounds: ${options.plan.rounds}; SDKs: ${results.sdks.join(', ')}.\n\n${drawTable(results)}`
  await writeFound(given.folder, 'delivery', {
    tables,
    figures: { about, plan: options.plan, ...results },
    picture: drawChart(results, about),
  })
  if (given.publish) await putIntoPage('delivery', tables)
}

/** Measures the share of the errors that were raised in the page, with or without an SDK. */
async function measureErrors({ options, loaded, arguments: given, isWanted, about }: Run): Promise<void> {
  const results = await runLoading({ ...options, subjects: loaded }, isWanted)
  checkLoading(results, options.plan)
  const tables = `${about}; visitors of each column: ${options.plan.visitors}.\n\n${drawLoading(results)}`
  await writeFound(given.folder, 'loading', { tables, figures: { about, plan: options.plan, ...results } })
  if (given.publish) await putIntoPage('loading', tables)
}

async function fullRun() {
  const app = await buildPeers()
  const subjects = ['direct', 'tunnelRoute', 'handler', 'culvert'] as const
  const options: RunOptions = {
    ...{ app, subjects, phases: ALL_PHASES, plan: FULL },
    onStep: logSteps(performance.now()),
  }
  return { options, loaded: ['loaderScript', 'tunnelRoute', 'culvert'] as const }
}

/** Scenarios and subjects that need no installation. */
async function quickRun(folder: string) {
  const app = await bundleApp(folder)
  const subjects = ['direct', 'handler', 'culvert'] as const
  const options: RunOptions = {
    ...{ app, subjects, phases: FEW_PHASES, plan: QUICK },
    onStep: logSteps(performance.now()),
  }
  return { options, loaded: ['loaderScript', 'handler', 'culvert'] as const }
}
