/** Compares Culvert with its alternatives and the lower bounds, with the same envelopes for each kind of body. */

import type { Cores } from '../load/cores.ts'
import { dsnsOf } from '../load/projects.ts'
import { type BodyKind, buildRequests } from '../load/requests.ts'
import type { Sink } from '../load/sink.ts'
import type { Plan } from './plan.ts'
import { type Participant, type Round, runRounds } from './rounds.ts'
import { SUBJECT_NAMES, SUBJECTS, type Subject } from './subjects.ts'

export type Comparison = { kind: BodyKind; rounds: Round<Subject>[] }[]

const FEWER_CONNECTIONS = 4 // visitors who upload 10 MB at the same time

export async function compareSideBySide(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  onStep: (step: string) => void,
): Promise<Comparison> {
  const results: Comparison = []
  for (const kind of plan.bodies) {
    onStep(`${kind}: ${SUBJECT_NAMES.length} subjects`)
    results.push({
      kind,
      rounds: await runRounds(participantsFor(kind, cores, sink), plan.rounds, plan, sink),
    })
  }
  return results
}

/** Starts new servers for each kind of body, so that none is affected by the one before. */
function participantsFor(kind: BodyKind, cores: Cores, sink: Sink): Record<Subject, Participant> {
  const dsns = dsnsOf(sink.port, 1)
  const participants = SUBJECT_NAMES.map((subject): [Subject, Participant] => {
    const { start, pathOf } = SUBJECTS[subject]
    const requests = buildRequests(kind, dsns, pathOf)
    const few = kind === '10 MB attachment' && { connections: FEWER_CONNECTIONS }
    return [subject, { start: () => start(cores, dsns), requests, ...few }]
  })
  return Object.fromEntries(participants) as Record<Subject, Participant>
}
