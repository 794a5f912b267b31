/** Culvert beside what people would use instead, and beside the floors: the same envelopes, each kind of body for itself. */

import type { Cores } from '../load/cores.ts'
import { dsnsOf } from '../load/projects.ts'
import { type BodyKind, buildRequests } from '../load/requests.ts'
import type { Sink } from '../load/sink.ts'
import type { Plan } from './plan.ts'
import { type Contender, playRounds, type Round } from './rounds.ts'
import { WAY_NAMES, WAYS, type Way } from './ways.ts'

export type SideBySide = { kind: BodyKind; rounds: Round<Way>[] }[]

const FEWER_CONNECTIONS = 4 // of so many visitors at once who upload 10 MB

export async function compareSideBySide(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  tell: (step: string) => void,
): Promise<SideBySide> {
  const results: SideBySide = []
  for (const kind of plan.bodies) {
    tell(`${kind}: ${WAY_NAMES.length} ways`)
    results.push({
      kind,
      rounds: await playRounds(contendersFor(kind, cores, sink), plan.rounds, plan, sink),
    })
  }
  return results
}

/** Fresh servers for each kind of body: what one has left behind must not weigh on the next. */
function contendersFor(kind: BodyKind, cores: Cores, sink: Sink): Record<Way, Contender> {
  const dsns = dsnsOf(sink.port, 1)
  const contenders = WAY_NAMES.map((way): [Way, Contender] => {
    const { start, pathOf } = WAYS[way]
    const requests = buildRequests(kind, dsns, pathOf)
    const few = kind === '10 MB attachment' && { connections: FEWER_CONNECTIONS }
    return [way, { start: () => start(cores, dsns), requests, ...few }]
  })
  return Object.fromEntries(contenders) as Record<Way, Contender>
}
