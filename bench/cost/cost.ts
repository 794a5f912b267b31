/**
 * Measures the cost of an envelope: Culvert as shipped, its alternatives, and the lower bounds:
 * `npm run bench -- [--out FOLDER] [--quick] [--publish]`. Writes `cost.md`, `cost.json` and `cost.svg` into the folder, and
 * its tables into `docs/benchmarks.md` with --publish, unless the machine was too busy. --quick prints the ratios of an error to the lower
 * bounds after a minute, to check a change.
 */

import { unmet } from '../../tests/support/requirements.ts'
import { type Cores, takeCores } from '../load/cores.ts'
import { openSink } from '../load/sink.ts'
import { describeLoad, describeMachine } from '../report/machine.ts'
import { putIntoPage } from '../report/publish.ts'
import { logSteps, runInWords, writeFound } from '../report/run.ts'
import { FIXED_RATE, measureAlone } from './alone.ts'
import { drawChart } from './chart.ts'
import { type Comparison, compareOverTls, compareSideBySide, driftOf, MAX_DRIFT } from './comparison.ts'
import { measureOutages } from './outage.ts'
import { buildPeers } from './peers.ts'
import { FOLDER, type Plan, readArguments } from './plan.ts'
import { measureSituations } from './scenarios.ts'
import { BUILT } from './subjects.ts'
import { drawComparison, drawDetails, type Results } from './table.ts'

await runInWords(run)

async function run(): Promise<void> {
  const { plan, isQuick, folder, publish } = readArguments(process.argv.slice(2))
  const missing = unmet('proc', 'nginx')
  if (missing) throw new Error(`this cannot be measured here: ${missing}`)
  if (plan.subjects.includes(BUILT)) await buildPeers()
  const about = [describeMachine(), describeLoad()].join(', ')
  const cores = takeCores()
  if (isQuick) {
    const compared = await compare(plan, cores)
    return console.log(`${about}; ${describeDrift(compared)}.\n\n${drawComparison(compared)}`)
  }
  const results = await measureAll(plan, cores)

  const calibration = describeDrift(results.sideBySide)
  const isTooBusy = publish && driftOf(results.sideBySide) > MAX_DRIFT
  const summary = `${about}; ${describeRounds(plan, cores)}; ${calibration}.\n\n${drawComparison(results.sideBySide)}`
  await writeFound(isTooBusy ? FOLDER : folder, 'cost', {
    tables: `# What an envelope costs\n\n${summary}\n\n${drawDetails(results, plan)}`,
    figures: { about, plan, ...results },
    picture: drawChart(results.sideBySide, about),
  })
  if (isTooBusy) throw new Error(`not published, since the machine was too busy: ${calibration}`)
  if (publish) await putIntoPage('bench', summary)
}

function describeRounds({ rounds, roundsForBody, fewerRounds, outages }: Plan, { note }: Cores): string {
  return [
    `median (minimum–maximum) of ${rounds} rounds, ${roundsForBody} for other bodies, ${fewerRounds} for the scenarios of Culvert and for other rates than ${FIXED_RATE} a second, ${outages.rounds} for outages`,
    '32 connections, 4 for 10 MB',
    note,
  ].join('; ')
}

function describeDrift(sideBySide: Comparison): string {
  const dropped = sideBySide.reduce((sum, each) => sum + each.dropped, 0)
  return `rounds of bare node:http differ by ${(driftOf(sideBySide) * 100).toFixed(0)} %, ${dropped} others were repeated`
}

async function compare(plan: Plan, cores: Cores): Promise<Comparison> {
  const onStep = logSteps(performance.now())
  await using sink = await openSink()
  return [
    ...(await compareSideBySide(plan, cores, sink, onStep)),
    ...(await compareOverTls(plan, cores, onStep)),
  ]
}

async function measureAll(plan: Plan, cores: Cores): Promise<Results> {
  const onStep = logSteps(performance.now())
  await using sink = await openSink()
  return {
    sideBySide: [
      ...(await compareSideBySide(plan, cores, sink, onStep)),
      ...(await compareOverTls(plan, cores, onStep)),
    ],
    scenarios: await measureSituations(plan, cores, sink, onStep),
    outages: await measureOutages(plan, cores, sink, onStep),
    alone: await measureAlone(plan, cores, sink, onStep),
  }
}
