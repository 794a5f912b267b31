/** Measures the cost of Culvert's 3.3 KB errors during an outage of Sentry, and during the delivery of spooled envelopes beside live ones. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Cores } from '../load/cores.ts'
import { type LoadOptions, postInTurn, postSteadily } from '../load/load.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildErrors, buildRequests } from '../load/requests.ts'
import type { Sink } from '../load/sink.ts'
import { Invalid } from '../report/run.ts'
import { type Culvert, startCulvert } from './culvert.ts'
import { CONNECTIONS, measure, observe, type Sample, type Target } from './measure.ts'
import type { Plan } from './plan.ts'
import { warmUp } from './rounds.ts'
import { readDelivered, readDrained, readSpooled } from './tunnel-counts.ts'

export type Outage = {
  /** Before the outage, at the maximum rate. */
  before: Sample
  /** During the outage, at the maximum rate; an envelope is accepted when it is on disk. */
  spooling: Sample
  /** After the outage: CPU time per envelope, spooled or live; latency of the live ones. */
  draining: Sample
  /** Time from the first to the last delivery of spooled envelopes. */
  drainedSeconds: number
}

/** Live envelopes per second during the delivery of spooled ones. */
export const LIVE_RATE = 500

const LONGEST_S = 50
const POLL_MS = 20
const SETTLING_MS = 20_000 // a tunnel probes Sentry every 5 s

export async function measureOutages(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  onStep: (step: string) => void,
): Promise<Outage[]> {
  const rounds: Outage[] = []
  const { rounds: planned, spooled } = plan.outages
  for (let round = 1; round <= planned; round++) {
    onStep(`An outage in which ${spooled} envelopes come, ${round} of ${planned}`)
    rounds.push(await playOutage(plan, cores, sink))
  }
  return rounds
}

async function playOutage(plan: Plan, cores: Cores, sink: Sink): Promise<Outage> {
  const { spooled } = plan.outages
  const [dsn = ''] = dsnsOf(sink, 1)
  await using culvert = await startCulvert(cores, [dsn])
  const requests = buildRequests('3.3 KB error', [dsn])
  const live: Target = { name: 'culvert', server: culvert, requests, connections: CONNECTIONS, posted: 0 }
  const posts = await warmUp(live, plan, sink)
  const before = await measure(live, sink, posts)
  const arrivedBefore = sink.seen.envelopes

  await sink.leave()
  const distinct = { ...live, requests: buildErrors(dsn, spooled) }
  const spooling = await observe(distinct, spooled, postInTurn)
  await agree('in the spool', spooled, () => readSpooled(culvert.adminUrl))

  await sink.comeBack()
  const arrived = () => sink.seen.envelopes - arrivedBefore
  await until(() => arrived() > 0)
  const begun = arrived()
  const beside = (options: LoadOptions) =>
    postSteadily({ ...options, until: (answered) => arrived() - answered >= spooled }, LIVE_RATE)
  const draining = await observe(live, LIVE_RATE * LONGEST_S, beside)
  await checkBooks(culvert, live.posted + draining.posts, spooled)
  await agree('at the sink', spooled + draining.posts, async () => arrived())
  const cpu = (draining.cpu * draining.posts) / (draining.posts + spooled - begun)
  return { before, spooling, draining: { ...draining, cpu }, drainedSeconds: draining.posts / draining.rate }
}

async function checkBooks(culvert: Culvert, live: number, spooled: number): Promise<void> {
  await agree('delivered from the spool', spooled, () => readDrained(culvert.adminUrl))
  await agree('delivered at once', live, () => readDelivered(culvert.adminUrl))
  await agree('log lines', live + spooled, async () => (await culvert.counts())['log lines'] ?? 0)
}

/** Waits until a counter has a value. Rejects with `Invalid` when it does not reach it. */
async function agree(counter: string, wanted: number, read: () => Promise<number>): Promise<void> {
  let count = NaN
  await until(async () => {
    count = await read()
    return count === wanted
  }).catch(() => {
    throw new Invalid(`Culvert in an outage: ${wanted} posts, ${count} ${counter}`)
  })
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + SETTLING_MS
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Invalid('Sentry was back, and nothing was delivered')
    await sleep(POLL_MS)
  }
}
