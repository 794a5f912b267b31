/** All situations, in phases of lanes: what needs no processor goes on side by side. */

import type { App } from './app.ts'
import type { Plan } from './plan.ts'
import { type Cell, runRound } from './round.ts'
import { startScene } from './scene.ts'
import { type Phases, SITUATIONS, type Situation, whyNot } from './situations.ts'
import type { WayName } from './ways.ts'

export type Outcome = {
  title: string
  /** Counts segments of replays, of which nobody raises any. */
  replays: boolean
  rounds: Cell[][]
  /** Why it was left out. */
  skipped?: string
}

export type Results = { ways: readonly WayName[]; sdks: string[]; situations: Outcome[] }

export type Course = {
  app: App
  ways: readonly WayName[]
  phases: Phases
  plan: Plan
  tell(step: string): void
}

export async function runAll(course: Course): Promise<Results> {
  const situations: Outcome[] = []
  let org = 0
  for (const lanes of course.phases) {
    const outcomes = await Promise.all(lanes.map((lane) => runLane(course, lane, ++org)))
    situations.push(...outcomes.flat())
  }
  const order = SITUATIONS.map(({ title }) => title)
  return {
    ways: course.ways,
    sdks: course.app.pages.map(({ sdk }) => sdk),
    situations: situations.toSorted((a, b) => order.indexOf(a.title) - order.indexOf(b.title)),
  }
}

async function runLane(
  { app, ways, plan, tell }: Course,
  lane: readonly Situation[],
  org: number,
): Promise<Outcome[]> {
  await using scene = await startScene(app, ways, org)
  const outcomes: Outcome[] = []
  for (const situation of lane) {
    const outcome = { title: situation.title, replays: situation.replays === true }
    const skipped = whyNot(situation)
    const rounds: Cell[][] = []
    for (let round = 1; round <= plan.rounds && !skipped; round++) {
      tell(`${situation.title}, round ${round}`)
      rounds.push(await runRound(scene, situation, plan, `${situation.title}, round ${round}, error`))
    }
    outcomes.push({ ...outcome, rounds, ...(skipped && { skipped }) })
  }
  return outcomes
}
