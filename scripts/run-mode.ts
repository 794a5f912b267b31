/** Which way to run: in containers where Docker can, else as plain processes. */

import { engineProblem, missingImages } from './docker-engine.ts'
import type { Config } from './environment.ts'
import { runStep, type StepFailed } from './progress.mjs'
import { UserError } from './user-error.ts'

export type Choice = {
  way: 'docker' | 'plain'
  /** Says which and why. */
  sentence: string
}

const PULL_TIMEOUT = 10 * 60 * 1000 // 10 min

/** Throws a `Refusal` when Docker was asked for and cannot be had. */
export async function chooseWay({ way, env }: Config, stopped: AbortSignal): Promise<Choice> {
  if (way === 'plain') return { way, sentence: 'Running as plain processes, as asked for.' }
  const problem = engineProblem() ?? (await bringImages(env, stopped))
  if (problem === undefined)
    return { way: 'docker', sentence: 'Running in containers (npm start -- --plain runs plain processes).' }
  if (way === 'docker') throw new UserError(`containers were asked for, but ${problem}.`)
  return { way: 'plain', sentence: `Running as plain processes: ${problem}.` }
}

/** Pulls the base images that are not here. Gives the reason when one cannot be had. */
async function bringImages(env: Config['env'], stopped: AbortSignal): Promise<string | undefined> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(PULL_TIMEOUT)])
  for (const image of missingImages(env)) {
    const pull = runStep(`Fetching the image ${image}`, ['docker', 'pull', image], { env, signal })
    const why = await pull.then(
      () => undefined,
      ({ message, output }: StepFailed) => output.split('\n').at(-1) || message,
    )
    if (why !== undefined) return `the image ${image} cannot be fetched (${why})`
  }
  return undefined
}
