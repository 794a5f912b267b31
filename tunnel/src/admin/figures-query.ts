/** Query of the figures: `GET /figures?from=&to=&step=`. All parameters are required. */

import { MAX_POINTS, MAX_RANGE, MIN_STEP } from 'contract/figures'
import type { Context } from 'hono'
import type { History } from '../observe/history.ts'
import { SNAPSHOT_STEPS } from '../pipeline/shared-state.ts'
import { RequestError, readWhole } from './responses.ts'

type FiguresDeps = {
  history: History
  /** Milliseconds since 1970. */
  now: () => number
}

const MINUTE_MS = 60_000
const DAYS = MAX_RANGE / (24 * 60 * MINUTE_MS)

export async function readFigures(c: Context, { history, now }: FiguresDeps): Promise<object> {
  const [from, to, step] = ['from', 'to', 'step'].map((name) => readWhole(c.req.query(), name))
  if (from === undefined || to === undefined || step === undefined)
    throw new RequestError(400, 'from, to and step are required, in milliseconds.')
  if (step < MIN_STEP || step % MIN_STEP !== 0)
    throw new RequestError(400, 'step is at least a minute, and a multiple of one: 60000 or more.')
  const first = Math.floor(from / step) * step
  checkRange(first, from, to, step)
  const snapshotStep = findSnapshotStep(step, now() - first)
  return history.read({ from: first, to, step }, snapshotStep).catch((error: unknown) => {
    const problem = error instanceof Error ? error.message : 'unknown error'
    return c.json({ detail: `The figures cannot be read now: ${problem}.` }, 503)
  })
}

function checkRange(first: number, from: number, to: number, step: number): void {
  if (to <= from)
    throw new RequestError(400, 'to is not after from; exchange them, or ask for a longer range.')
  if (to - from > MAX_RANGE)
    throw new RequestError(400, `The range is longer than ${DAYS} days; ask for a shorter one.`)
  if ((to - first) / step > MAX_POINTS) {
    const minutes = Math.ceil((to - from) / MAX_POINTS / MINUTE_MS)
    throw new RequestError(
      400,
      `The range has more than ${MAX_POINTS} points; use a step of ${minutes * MINUTE_MS} or more.`,
    )
  }
}

/** Returns the longest step of snapshots that divides `step`, if they are kept up to an age. */
function findSnapshotStep(step: number, ageMs: number): number {
  const kept = SNAPSHOT_STEPS.filter(({ keepMs }) => ageMs <= keepMs)
  const longest = kept.findLast((each) => step % each.step === 0)
  if (longest) return longest.step
  const [finest] = kept
  throw new RequestError(
    400,
    finest
      ? `Figures of that age are kept in steps of ${finest.step} only; use a multiple of it.`
      : `Figures are kept for ${DAYS} days; begin later.`,
  )
}
