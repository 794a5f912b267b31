/** All situations, in phases of lanes: what needs no processor goes on side by side. */

import type { Plan } from './plan.ts'
import { type Cell, runRound } from './round.ts'
import { type Scene, startScene } from './scene.ts'
import { type Phases, SITUATIONS, type Situation, whyNot } from './situations.ts'
import type { App } from './subjects/app.ts'
import type { WayName } from './subjects/ways.ts'

export type Outcome = {
  title: string
  /** Counts segments of replays, of which nobody raises any. */
  replays: boolean
  /** All has to arrive that goes straight to Sentry. */
  control: boolean
  /** More than a browser promises to send. */
  beyond: boolean
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

/** Situations that are not `wanted` are told as left out. */
export async function runAll(course: Course, wanted: (situation: Situation) => boolean): Promise<Results> {
  const all = course.phases.flat(2)
  const situations = all
    .filter((situation) => !wanted(situation))
    .map((situation) => leftOut(situation, 'left out'))
  for (const phase of course.phases) {
    const lanes = phase.map((lane) => lane.filter(wanted)).filter(({ length }) => length > 0)
    await using scenes = await startScenes(course, lanes)
    const failed = new AbortController()
    const running = scenes.of.map(([scene, lane]) =>
      runLane(course, scene, lane, failed.signal).catch((error) => {
        failed.abort(error)
        throw error
      }),
    )
    await Promise.allSettled(running) // none is left running
    situations.push(...(await Promise.all(running)).flat())
  }
  const order = SITUATIONS.map(({ title }) => title)
  return {
    ways: course.ways,
    sdks: course.app.pages.map(({ sdk }) => sdk),
    situations: situations.toSorted((a, b) => order.indexOf(a.title) - order.indexOf(b.title)),
  }
}

/** All of a phase before its first lane begins: starting them is work enough to be a trouble of its own. */
async function startScenes({ app, ways }: Course, lanes: readonly (readonly Situation[])[]) {
  await using starting = new AsyncDisposableStack()
  const of: [Scene, readonly Situation[]][] = []
  for (const lane of lanes) of.push([starting.use(await startScene(app, ways, of.length + 1)), lane])
  const started = starting.move()
  return { of, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

async function runLane(
  { plan, tell }: Course,
  scene: Scene,
  lane: readonly Situation[],
  failed: AbortSignal,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const situation of lane) {
    const skipped = whyNot(situation)
    if (skipped !== undefined) outcomes.push(leftOut(situation, skipped))
    else outcomes.push(outcomeOf(situation, await runRounds(situation)))
  }
  return outcomes

  async function runRounds(situation: Situation): Promise<Cell[][]> {
    const rounds: Cell[][] = []
    for (let round = 1; round <= plan.rounds; round++) {
      failed.throwIfAborted()
      tell(`${situation.title}, round ${round}`)
      rounds.push(await runRound(scene, situation, plan, `${situation.title}, round ${round}, error`))
    }
    return rounds
  }
}

function outcomeOf(situation: Situation, rounds: Cell[][]): Outcome {
  const { title, control = false, replays = false, beyond = false } = situation
  return { title, control, replays, beyond, rounds }
}

function leftOut(situation: Situation, skipped: string): Outcome {
  return { ...outcomeOf(situation, []), skipped }
}
