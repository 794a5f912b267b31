/**
 * Measures the resident memory of tunnels with one project and with 1,000 while each gets 450 errors of 3.3 KB a second. Ends after
 * 1,000,000 envelopes, which take 37 min: `node bench/cost/memory.ts [envelopes]`.
 */

import type { Cores } from '../load/cores.ts'
import { postSteadily } from '../load/load.ts'
import { residentBytes } from '../load/process-cost.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildRequests } from '../load/requests.ts'
import { openSink } from '../load/sink.ts'
import { describeMachine } from '../report/machine.ts'
import { quantile } from '../report/statistics.ts'
import { renderTable } from '../report/table.ts'
import { startCulvert } from './culvert.ts'

const ENVELOPES = Number(process.argv[2] ?? 1_000_000)
const RATE = 450 // envelopes per second
const STEPS = 10
const EVERY_MS = 1000
const CONNECTIONS = 32
const ANY: Cores = { server: [], note: 'on any core' }

const PROJECTS = [1, 1000]
const columns = await Promise.all(PROJECTS.map(measureWith))
const rows = columns[0]?.map((_, step) => [
  ((ENVELOPES / STEPS) * (step + 1)).toLocaleString('en'),
  ...columns.map((figures) => figures[step] ?? ''),
])
console.log(
  `${describeMachine()}, ${RATE} envelopes a second; median (maximum) of the memory in MB, each second\n`,
)
console.log(renderTable([['envelopes', ...PROJECTS.map((count) => `${count} project(s)`)], ...(rows ?? [])]))

/** Returns the memory of a tunnel with as many projects in each step. */
async function measureWith(projects: number): Promise<string[]> {
  await using sink = await openSink()
  const dsns = dsnsOf(sink, projects)
  await using tunnel = await startCulvert(ANY, dsns)
  const requests = buildRequests('3.3 KB error', dsns)
  const figures: string[] = []
  for (let step = 0; step < STEPS; step++) {
    const seen: number[] = []
    const timer = setInterval(() => seen.push(residentBytes(...tunnel.pids())), EVERY_MS)
    await postSteadily(
      { port: tunnel.port, requests, posts: ENVELOPES / STEPS, connections: CONNECTIONS },
      RATE,
    ).finally(() => clearInterval(timer))
    seen.sort((a, b) => a - b)
    figures.push(`${megabytes(quantile(seen, 0.5))} (${megabytes(seen.at(-1) ?? 0)})`)
  }
  if (sink.seen.envelopes !== ENVELOPES)
    throw new Error(`${sink.seen.envelopes} of ${ENVELOPES} envelopes arrived`)
  return figures
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}
