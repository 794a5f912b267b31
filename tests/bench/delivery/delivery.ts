/**
 * Of the errors that happen in real browsers, how many arrive? By Culvert, and by what people would use instead:
 * `npm run bench:delivery -- [--out FOLDER] [--quick] [--publish] [--only WORDS]`. Writes `delivery.md`, `delivery.json` and `delivery.svg` into the
 * folder, and into README what it shows of them.
 */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StepFailed } from '../../../scripts/step.mjs'
import { makeFolder } from '../../helpers/folder.ts'
import { unmet } from '../../helpers/requirements.ts'
import { describeLoad, describeMachine } from '../machine.ts'
import { putIntoReadme } from '../publish.ts'
import { drawChart } from './chart.ts'
import { check } from './check.ts'
import { bundleApp } from './files-app.ts'
import { buildPeers } from './peers.ts'
import { FULL, QUICK, readArguments } from './plan.ts'
import { type Course, runAll } from './results.ts'
import { Invalid } from './round.ts'
import { ALL_PHASES, FEW_PHASES } from './situations.ts'
import { drawTables } from './table.ts'

try {
  await run()
} catch (error) {
  if (error instanceof StepFailed) console.error(error.output)
  console.error(`culvert bench: ${error instanceof Invalid ? 'the run is invalid: ' : ''}${say(error)}`)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const { quick, folder, publish, only } = readArguments(process.argv.slice(2))
  const missing = unmet('chromium', 'nginx')
  if (missing) throw new Error(`this cannot be measured here: ${missing}`)
  await using pages = await makeFolder()
  const course = quick ? await fewWays(pages.path) : await allWays()
  const about = [describeMachine(), describeLoad()].join(', ')
  const results = await runAll(course, ({ title }) => only.some((words) => title.includes(words)))
  check(results, course.plan)

  const tables = `${about}; rounds: ${course.plan.rounds}; SDKs: ${results.sdks.join(', ')}.\n\n${drawTables(results)}`
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'delivery.md'), `${tables}\n`)
  await writeFile(
    join(folder, 'delivery.json'),
    `${JSON.stringify({ about, plan: course.plan, ...results }, null, 2)}\n`,
  )
  await writeFile(join(folder, 'delivery.svg'), drawChart(results, about))
  if (publish) await putIntoReadme('delivery', tables)
  console.log(
    `${tables}\n\nTables, figures and picture: delivery.md, delivery.json and delivery.svg in ${folder}`,
  )
}

async function allWays(): Promise<Course> {
  const app = await buildPeers()
  const ways = ['direct', 'tunnelRoute', 'handler', 'culvert'] as const
  return { app, ways, phases: ALL_PHASES, plan: FULL, tell: tellSince(performance.now()) }
}

/** Those for which nothing is installed. */
async function fewWays(folder: string): Promise<Course> {
  const app = await bundleApp(folder)
  const ways = ['direct', 'handler', 'culvert'] as const
  return { app, ways, phases: FEW_PHASES, plan: QUICK, tell: tellSince(performance.now()) }
}

/** Progress stands apart from the tables. */
function tellSince(began: number): (step: string) => void {
  return (step) =>
    process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${step} …\n`)
}

/** What went wrong first stands first; what went wrong while tidying up after it, behind it. */
function say(error: unknown): string {
  if (error instanceof SuppressedError) return `${say(error.suppressed)}; then ${say(error.error)}`
  return error instanceof Error ? error.message : String(error)
}
