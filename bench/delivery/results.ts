/** Runs the scenarios in phases; the sequences of a phase run in parallel. */

import type { Plan } from './plan.ts'
import { runRound, type Sample } from './round.ts'
import { type Phases, SCENARIOS, type Scenario, unmetRequirement } from './scenarios.ts'
import type { App } from './subjects/app.ts'
import type { SubjectName } from './subjects/subjects.ts'
import { startTestbed, type Testbed } from './testbed.ts'

export type ScenarioResult = {
  title: string
  /** Counts segments of replays, which no error raises. */
  replays: boolean
  /** Requires that all direct reports arrive. */
  control: boolean
  /** Exceeds the browser's limit for keep-alive requests. */
  beyond: boolean
  rounds: Sample[][]
  /** Reason why the scenario did not run. */
  skipped?: string
}

export type Results = { subjects: readonly SubjectName[]; sdks: string[]; scenarios: ScenarioResult[] }

export type RunOptions = {
  app: App
  subjects: readonly SubjectName[]
  phases: Phases
  plan: Plan
  onStep(step: string): void
}

/** Runs the scenarios that are `wanted`; the others are listed as skipped. */
export async function runAll(options: RunOptions, wanted: (scenario: Scenario) => boolean): Promise<Results> {
  const all = options.phases.flat(2)
  const scenarios = all
    .filter((scenario) => !wanted(scenario))
    .map((scenario) => skippedResult(scenario, 'left out'))
  for (const phase of options.phases) {
    const sequences = phase.map((sequence) => sequence.filter(wanted)).filter(({ length }) => length > 0)
    await using testbeds = await startTestbeds(options, sequences)
    const failed = new AbortController()
    const running = testbeds.of.map(([testbed, sequence]) =>
      runSequence(options, testbed, sequence, failed.signal).catch((error) => {
        failed.abort(error)
        throw error
      }),
    )
    await Promise.allSettled(running) // waits until all sequences have ended
    scenarios.push(...(await Promise.all(running)).flat())
  }
  const order = SCENARIOS.map(({ title }) => title)
  return {
    subjects: options.subjects,
    sdks: options.app.pages.map(({ sdk }) => sdk),
    scenarios: scenarios.toSorted((a, b) => order.indexOf(a.title) - order.indexOf(b.title)),
  }
}

/** Starts the testbeds of a phase before its first sequence: starting them is a load of its own. */
async function startTestbeds({ app, subjects }: RunOptions, sequences: readonly (readonly Scenario[])[]) {
  await using starting = new AsyncDisposableStack()
  const of: [Testbed, readonly Scenario[]][] = []
  for (const sequence of sequences)
    of.push([starting.use(await startTestbed(app, subjects, of.length + 1)), sequence])
  const started = starting.move()
  return { of, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

async function runSequence(
  { plan, onStep }: RunOptions,
  testbed: Testbed,
  sequence: readonly Scenario[],
  failed: AbortSignal,
): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = []
  for (const scenario of sequence) {
    const skipped = unmetRequirement(scenario)
    if (skipped !== undefined) results.push(skippedResult(scenario, skipped))
    else results.push(resultOf(scenario, await runRounds(scenario)))
  }
  return results

  async function runRounds(scenario: Scenario): Promise<Sample[][]> {
    const rounds: Sample[][] = []
    for (let round = 1; round <= plan.rounds; round++) {
      failed.throwIfAborted()
      onStep(`${scenario.title}, round ${round}`)
      rounds.push(await runRound(testbed, scenario, plan, `${scenario.title}, round ${round}, error`))
    }
    return rounds
  }
}

function resultOf(scenario: Scenario, rounds: Sample[][]): ScenarioResult {
  const { title, control = false, replays = false, beyond = false } = scenario
  return { title, control, replays, beyond, rounds }
}

function skippedResult(scenario: Scenario, skipped: string): ScenarioResult {
  return { ...resultOf(scenario, []), skipped }
}
