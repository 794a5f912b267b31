/** Measures servers side by side: warmed up, and sampled in turn in each round. */

import type { Requests } from '../load/requests.ts'
import type { Server } from '../load/server.ts'
import type { Sink } from '../load/sink.ts'
import { CONNECTIONS, checkBooks, measure, type Sample, type Target } from './measure.ts'
import type { Plan } from './plan.ts'

export type Participant = {
  start(): Promise<Server>
  requests: Requests
  /** Number of connections; 32 by default. */
  connections?: number
}

export type Round<Name extends string> = Record<Name, Sample>

/** Server in a comparison, with the number of envelopes of one sample. */
type Entry = { target: Target; posts: number }

const MAX_REPEATS = 2 // as a multiple of the planned rounds

/** Starts servers, plays rounds and stops them. */
export async function runRounds<Name extends string>(
  participants: Record<Name, Participant>,
  rounds: number,
  plan: Plan,
  sink: Sink,
): Promise<Round<Name>[]> {
  await using running = new AsyncDisposableStack()
  const targets: Target[] = []
  for (const [name, { start, requests, connections = CONNECTIONS }] of Object.entries<Participant>(
    participants,
  ))
    targets.push({ name, server: running.use(await start()), requests, connections, posted: 0 })
  return await playRounds<Name>(targets, rounds, plan, sink) // before the servers stop
}

/** Plays rounds until `keep` returns as many as planned, or twice as many were played. Then returns all of them. */
export async function playRounds<Name extends string>(
  targets: readonly Target[],
  rounds: number,
  plan: Plan,
  sink: Sink,
  keep: (played: Round<Name>[]) => Round<Name>[] = (played) => played,
): Promise<Round<Name>[]> {
  const entries: Entry[] = []
  for (const target of targets) entries.push({ target, posts: await warmUp(target, plan, sink) })
  const played: Round<Name>[] = []
  for (let round = 0; round < MAX_REPEATS * rounds; round++) {
    played.push((await runRound(inTurn(entries, round), sink)) as Round<Name>)
    if (keep(played).length >= rounds) break
  }
  for (const target of targets) await checkBooks(target)
  const kept = keep(played)
  return kept.length >= rounds ? kept : played
}

/**
 * Warms a server up, longer after its start than for another kind of body. Returns the number of envelopes of a sample: enough for the
 * resolution of CPU time, within the planned duration.
 */
export async function warmUp(target: Target, { warmUp, measured }: Plan, sink: Sink): Promise<number> {
  const { connections } = target
  const seconds = target.posted === 0 ? warmUp.seconds : warmUp.secondsForBody
  let last = await measure(target, sink, connections)
  for (let spent = 0; spent < seconds; spent += last.posts / last.rate) {
    const left = Math.ceil((seconds - spent) * last.rate)
    last = await measure(target, sink, Math.max(connections, Math.min(left, last.posts * 4))) // it becomes faster
  }
  const enough = Math.min((measured.cpuSeconds * 1e6) / Math.max(1, last.cpu), measured.seconds * last.rate)
  return Math.max(connections * measured.least, Math.ceil(enough))
}

/** Rotates the order in each round, so that no server always follows the same one. */
function inTurn(entries: readonly Entry[], round: number): Entry[] {
  const first = round % entries.length
  return [...entries.slice(first), ...entries.slice(0, first)]
}

async function runRound(entries: readonly Entry[], sink: Sink): Promise<Record<string, Sample>> {
  const figures: Record<string, Sample> = {}
  for (const { target, posts } of entries) figures[target.name] = await measure(target, sink, posts)
  return figures
}
