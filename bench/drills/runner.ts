/** Runs a drill: load, fault, repair, and the count of what arrived. */

import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../report/statistics.ts'
import type { Drill, Result, Sign } from './drill.ts'
import { type Answer, isAcknowledged, startLoad } from './load.ts'
import { watchSigns } from './signs.ts'
import type { Site } from './site.ts'

const HEALTHY_MS = 60_000
const DRAIN_MS = 90_000
const LOOK_MS = 1_000

/** Runs one drill on a healthy site, and leaves it healthy. */
export async function runDrill(drill: Drill, site: Site): Promise<Result> {
  const dsn = site.dsns[drill.route]
  const { url } = site.stack
  if (drill.route === 'tls') await until(() => hasSpooled(url, dsn), HEALTHY_MS)
  else await until(() => isHealthy(url, dsn), HEALTHY_MS)
  site.output.length = 0
  const load = startLoad({ url, dsn, rate: drill.rate })
  const watch = watchSigns(site, drill.signs, load.answers)
  await sleep(drill.calmSeconds * 1000)
  await drill.fault(site)
  await sleep(drill.seconds * 1000)
  await watch.readLog() // a deploy removes the containers, and their logs
  await drill.repair(site)
  await sleep(drill.calmSeconds * 1000)
  const answers = await load.end()
  await until(() => isDrained(site), DRAIN_MS).catch(() => undefined) // what is still pending counts as lost
  return judge(drill, answers, site.accepted, await watch.end())
}

/** Counts the outcome of a drill, and compares it with what is expected. */
export function judge(
  drill: Drill,
  answers: readonly Answer[],
  accepted: ReadonlyMap<string, number>,
  seen: ReadonlySet<Sign>,
): Result {
  const acknowledged = answers.filter(isAcknowledged)
  const counts = {
    lost: acknowledged.filter(({ id }) => !accepted.has(id)).length,
    duplicates: answers.filter(({ id }) => (accepted.get(id) ?? 0) > 1).length,
    notAccepted: answers.length - acknowledged.length,
  }
  const missed = drill.signs.filter((sign) => !seen.has(sign)).map(({ words }) => words)
  const { name, title, rate, remedy } = drill
  return {
    ...{ name, title, rate, remedy, ...counts, missed },
    posted: answers.length,
    acknowledged: acknowledged.length,
    p99: quantile(
      answers.map(({ ms }) => ms).toSorted((a, b) => a - b),
      0.99,
    ),
    seen: drill.signs.filter((sign) => seen.has(sign)).map(({ words }) => words),
    failures: [
      ...exceeded('lost', counts.lost, drill.bounds.lost),
      ...exceeded('duplicates', counts.duplicates, drill.bounds.duplicates),
      ...exceeded(
        `not accepted (${describeResponses(answers)})`,
        counts.notAccepted,
        drill.bounds.notAccepted,
      ),
      ...missed.map((words) => `not seen: ${words}`),
    ],
  }
}

function exceeded(name: string, count: number, bound = Number.POSITIVE_INFINITY): string[] {
  return count > bound ? [`${name}: ${count}, at most ${bound} expected`] : []
}

/** Lists the responses other than 2xx, each once. */
function describeResponses(answers: readonly Answer[]): string {
  const others = answers.filter((answer) => !isAcknowledged(answer))
  return [...new Set(others.map(({ status, code }) => `${status} ${code}`.trim()))].join(', ')
}

async function isHealthy(url: string, dsn: string): Promise<boolean> {
  const { status, isSpooled } = await postOne(url, dsn)
  return status === 200 && !isSpooled
}

async function hasSpooled(url: string, dsn: string): Promise<boolean> {
  return isAcknowledged(await postOne(url, dsn))
}

async function postOne(url: string, dsn: string): Promise<Answer> {
  const load = startLoad({ url, dsn, rate: 1 })
  const [answer] = await load.end()
  if (!answer) throw new Error('the load posted nothing')
  return answer
}

/** Returns whether no envelope is pending in the spool or in flight. */
async function isDrained(site: Site): Promise<boolean> {
  const states = (await site.askTunnels('/status')).map((text) => JSON.parse(text))
  return (
    states.length > 0 && states.every(({ in_flight, spool }) => in_flight === 0 && spool?.envelopes === 0)
  )
}

async function until(condition: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await condition().catch(() => false))) {
    if (performance.now() > end) throw new Error(`the site was not ready after ${timeoutMs / 1000} s`)
    await sleep(LOOK_MS)
  }
}
