/**
 * Of the errors that happen in real browsers, how many arrive? By Culvert, and by what people would use instead:
 * `npm run bench:delivery -- [--out FOLDER] [--quick] [--publish] [--only WORDS]`. Writes `delivery.md`, `delivery.json` and `delivery.svg` into the
 * folder, and into README what it shows of them.
 */

import { unmet } from '../../tests/support/requirements.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import { describeLoad, describeMachine } from '../report/machine.ts'
import { putIntoReadme } from '../report/publish.ts'
import { runInWords, tellSince, writeFound } from '../report/run.ts'
import { drawChart } from './chart.ts'
import { check } from './check.ts'
import { FULL, QUICK, readArguments } from './plan.ts'
import { type Course, runAll } from './results.ts'
import { ALL_PHASES, FEW_PHASES } from './situations.ts'
import { bundleApp } from './subjects/files-app.ts'
import { buildPeers } from './subjects/peers.ts'
import { drawTables } from './table.ts'

await runInWords(run)

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
  await writeFound(folder, 'delivery', {
    tables,
    figures: { about, plan: course.plan, ...results },
    picture: drawChart(results, about),
  })
  if (publish) await putIntoReadme('delivery', tables)
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
