/** Culvert beside what people would use instead, and beside the floor: the same envelopes, in rounds that take turns. */

import type { Cores } from './cores.ts'
import { type Figures, measure, type Subject } from './measure.ts'
import type { Plan } from './plan.ts'
import { dsnsOf } from './projects.ts'
import { BODY_KINDS, type BodyKind, buildRequests } from './requests.ts'
import { type ServerStart, startBare, startCulvert, startHandler } from './server.ts'
import type { Sink } from './sink.ts'

export type Way = 'culvert' | 'handler' | 'bare'

export type Round = Record<Way, Figures>

const STARTS: Record<Way, ServerStart> = { culvert: startCulvert, handler: startHandler, bare: startBare }
const WAYS = Object.keys(STARTS) as Way[]

export type SideBySide = Record<BodyKind, Round[]>

export async function compareSideBySide(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  tell: (step: string) => void,
): Promise<SideBySide> {
  const results: [BodyKind, Round[]][] = []
  for (const kind of BODY_KINDS) {
    tell(`${kind}: ${plan.rounds} rounds of ${plan.bodies[kind].posts} envelopes on each`)
    results.push([kind, await compare(kind, plan, cores, sink)])
  }
  return Object.fromEntries(results) as SideBySide
}

/** Fresh servers for each kind of body: what one has left behind must not weigh on the next. */
async function compare(kind: BodyKind, plan: Plan, cores: Cores, sink: Sink): Promise<Round[]> {
  await using running = new AsyncDisposableStack()
  const { warmUp, posts } = plan.bodies[kind]
  const dsns = dsnsOf(sink.port, 1)
  const requests = buildRequests(kind, dsns)
  const subjects: [Way, Subject][] = []
  for (const way of WAYS) {
    const server = running.use(await STARTS[way](cores, dsns))
    const subject = { name: way, server, requests, posted: 0 }
    await measure(subject, sink, warmUp)
    subjects.push([way, subject])
  }
  const rounds: Round[] = []
  for (let round = 0; round < plan.rounds; round++) rounds.push(await playRound(subjects, sink, posts))
  return rounds
}

async function playRound(subjects: [Way, Subject][], sink: Sink, posts: number): Promise<Round> {
  const figures: [Way, Figures][] = []
  for (const [way, subject] of subjects) figures.push([way, await measure(subject, sink, posts)])
  return Object.fromEntries(figures) as Round
}
