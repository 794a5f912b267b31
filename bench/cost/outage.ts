/** What Culvert's 3.3 KB errors cost while Sentry is away, and while what waited is delivered beside live ones. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Cores } from '../load/cores.ts'
import { type LoadOptions, postInTurn, postSteadily } from '../load/load.ts'
import { dsnsOf } from '../load/projects.ts'
import { buildErrors, buildRequests } from '../load/requests.ts'
import type { Sink } from '../load/sink.ts'
import { Invalid } from '../report/run.ts'
import { type Culvert, startCulvert } from './culvert.ts'
import { CONNECTIONS, type Figures, measure, observe, type Subject } from './measure.ts'
import type { Plan } from './plan.ts'
import { warmUp } from './rounds.ts'
import { readDelivered, readDrained, readSpooled } from './tunnel-counts.ts'

export type Outage = {
  /** Just before it, as fast as they are answered. */
  before: Figures
  /** As fast as they are answered, which is when they lie on our disk. */
  spooling: Figures
  /** CPU for each that was carried, waiting or live; times are those of the live ones. */
  draining: Figures
  /** Until the last that had waited was delivered, from when the first was. */
  drainedSeconds: number
}

/** Live envelopes a second while what waited is delivered. */
export const LIVE_RATE = 500

const LONGEST_S = 50
const LOOK_MS = 20
const SETTLING_MS = 20_000 // after 5 s a tunnel looks whether Sentry is back

export async function measureOutages(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  tell: (step: string) => void,
): Promise<Outage[]> {
  const rounds: Outage[] = []
  for (let round = 1; round <= plan.fewerRounds; round++) {
    tell(`An outage in which ${plan.spooled} envelopes come, ${round} of ${plan.fewerRounds}`)
    rounds.push(await playOutage(plan, cores, sink))
  }
  return rounds
}

async function playOutage(plan: Plan, cores: Cores, sink: Sink): Promise<Outage> {
  const [dsn = ''] = dsnsOf(sink.port, 1)
  await using culvert = await startCulvert(cores, [dsn])
  const requests = buildRequests('3.3 KB error', [dsn])
  const live: Subject = { name: 'culvert', server: culvert, requests, connections: CONNECTIONS, posted: 0 }
  const posts = await warmUp(live, plan, sink)
  const before = await measure(live, sink, posts)
  const arrivedBefore = sink.seen.envelopes

  await sink.leave()
  const distinct = { ...live, requests: buildErrors(dsn, plan.spooled) }
  const spooling = await observe(distinct, plan.spooled, (options) => postInTurn({ ...options, wanted: 202 }))
  await agree('in the spool', plan.spooled, () => readSpooled(culvert.adminUrl))

  await sink.comeBack()
  const arrived = () => sink.seen.envelopes - arrivedBefore
  await until(() => arrived() > 0)
  const begun = arrived()
  const beside = (options: LoadOptions) =>
    postSteadily({ ...options, until: (answered) => arrived() - answered >= plan.spooled }, LIVE_RATE)
  const draining = await observe(live, LIVE_RATE * LONGEST_S, beside)
  await checkBooks(culvert, live.posted + draining.posts, plan.spooled)
  await agree('at the sink', plan.spooled + draining.posts, async () => arrived())
  const cpu = (draining.cpu * draining.posts) / (draining.posts + plan.spooled - begun)
  return { before, spooling, draining: { ...draining, cpu }, drainedSeconds: draining.posts / draining.rate }
}

async function checkBooks(culvert: Culvert, live: number, spooled: number): Promise<void> {
  await agree('delivered from the spool', spooled, () => readDrained(culvert.adminUrl))
  await agree('delivered at once', live, () => readDelivered(culvert.adminUrl))
  await agree('log lines', live + spooled, async () => (await culvert.counts())['log lines'] ?? 0)
}

/** Rejects with `Invalid` when the books do not come to say so. */
async function agree(book: string, wanted: number, read: () => Promise<number>): Promise<void> {
  let count = NaN
  await until(async () => {
    count = await read()
    return count === wanted
  }).catch(() => {
    throw new Invalid(`Culvert in an outage: ${wanted} posts, ${count} ${book}`)
  })
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + SETTLING_MS
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Invalid('Sentry was back, and nothing was delivered')
    await sleep(LOOK_MS)
  }
}
