/** One situation, once: all ways of it side by side, and the books of both ends held against each other. */

import { until } from '../../tests/support/until.ts'
import { Invalid } from '../report/run.ts'
import type { Plan } from './plan.ts'
import { WELL } from './recorder.ts'
import type { Scene } from './scene.ts'
import type { Situation } from './situations.ts'
import type { PageKind } from './subjects/pages.ts'
import type { Way, WayName } from './subjects/ways.ts'
import { type PageTimes, timePages } from './visitors/page-times.ts'
import { refusedByBrowser } from './visitors/refused.ts'
import {
  countsOf,
  failuresOf,
  networkChanged,
  openPages,
  untilAnswered,
  type Visit,
} from './visitors/visits.ts'

export type Tally = {
  sdk: PageKind['sdk']
  /** Errors that happened in the page, and events that the SDK made of them. */
  raised: number
  made: number
  /** Reports that the SDK handed to `fetch`, without those that the browser refused to send, and how many these were. */
  handed: number
  refused: number
  /** How many of these Sentry took, and how many times it took one again. */
  arrived: number
  duplicates: number
}

export type Cell = {
  way: WayName
  /** What each SDK's visitor sent. */
  tallies: Tally[]
  page: PageTimes
  /** What Chromium, and `fetch` in the page, said of posts that failed, each once. */
  failures: string[]
  /** Requests that Sentry had in hand at the moments when processes were killed or stopped. */
  inHandAtKills: number
}

const QUIET_MS = 2_000
const DELIVERED_WITHIN = 120_000 // ms after the trouble

export async function runRound(
  scene: Scene,
  situation: Situation,
  plan: Plan,
  label: string,
): Promise<Cell[]> {
  const { recorder, ways, visits } = scene
  recorder.behave(WELL)
  recorder.forget()
  for (const { project } of ways) recorder.takenOf(project)
  await using _pages = await openPages(visits, recorder, situation.pages?.() ?? {})
  const inHand = new Map<WayName, number>()
  const pages = new Map<WayName, PageTimes>()
  const killing = () => {
    for (const { name, project } of ways)
      inHand.set(name, (inHand.get(name) ?? 0) + recorder.inHandOf(project))
  }

  for (const group of situation.inTurn ? ways.map((way) => [way]) : [ways]) {
    const there = visits.filter(({ way }) => group.includes(way))
    const times = await timePages(group, async () => {
      await situation.run({ scene, plan, visits: there, label, killing })
      await untilAnswered(there)
    })
    for (const [name, figures] of times) pages.set(name, figures)
  }
  recorder.behave(WELL)
  await untilDelivered(scene, situation.quietMs ?? QUIET_MS)

  if (networkChanged(visits)) throw new Invalid('interfaces of this machine came or went meanwhile')
  return await Promise.all(
    ways.map(async (way) => ({
      way: way.name,
      tallies: await tally(
        visits.filter((visit) => visit.way === way),
        recorder.takenOf(way.project),
      ),
      page: pages.get(way.name) as PageTimes,
      failures: await failuresOf(visits.filter((visit) => visit.way === way)),
      inHandAtKills: inHand.get(way.name) ?? 0,
    })),
  )
}

/** Resolves when nothing waits any more, and nothing is on its way. */
async function untilDelivered({ ways, recorder }: Scene, quietMs: number): Promise<void> {
  const waiting = async (way: Way) => (await way.waiting()) !== 0
  const settled = async () =>
    !(await Promise.all(ways.map(waiting))).includes(true) && recorder.quietMs() > quietMs
  await until(settled, DELIVERED_WITHIN + quietMs)
}

/** Throws when Sentry has what no page has sent. */
async function tally(visits: readonly Visit[], taken: readonly string[]): Promise<Tally[]> {
  let known = 0
  const tallies = await Promise.all(
    visits.map(async (visit) => {
      const { raised, made, handed, failed } = await countsOf(visit)
      const sent = new Set(handed) // a segment that failed is handed over again
      const refused = refusedByBrowser(failed, visit.lost, taken)
      for (const id of refused) sent.delete(id)
      const own = taken.filter((id) => sent.has(id))
      known += own.length
      const arrived = new Set(own).size
      return {
        sdk: visit.kind.sdk,
        ...{ raised, made, handed: sent.size, refused: refused.size },
        ...{ arrived, duplicates: own.length - arrived },
      }
    }),
  )
  if (known !== taken.length)
    throw new Invalid(`Sentry took ${taken.length} reports, and pages sent only ${known} of them`)
  return tallies
}
