/** Compares Culvert with its alternatives and the lower bounds, with the same envelopes for each kind of body. */

import type { Cores } from '../load/cores.ts'
import { dsnsOf } from '../load/projects.ts'
import { type BodyKind, buildRequests } from '../load/requests.ts'
import type { Server } from '../load/server.ts'
import { openSink, type Sink } from '../load/sink.ts'
import { spreadOf } from '../report/statistics.ts'
import { CONNECTIONS, type Sample } from './measure.ts'
import type { Plan } from './plan.ts'
import { playRounds, type Round } from './rounds.ts'
import { SUBJECT_NAMES, SUBJECTS, type Subject } from './subjects.ts'

/** Samples of one round, of the subjects of the plan. Culvert and the bare server are in each. */
export type ComparedRound = Round<'culvert' | 'bare'> & Partial<Round<Subject>>

/** The error of 3.3 KB to a Sentry that speaks TLS, as real ones do. */
const OVER_TLS = '3.3 KB error over TLS'
const OVER_TLS_SUBJECTS: ReadonlySet<Subject> = new Set(['culvert', 'prototype', 'bare'])

export type Comparison = {
  kind: BodyKind | typeof OVER_TLS
  rounds: readonly ComparedRound[]
  /** Number of other rounds, in which bare Node.js took more or less CPU time. */
  dropped: number
}[]

/** Returns the subjects that were compared, in the order of the tables. */
export function subjectsOf([first]: readonly Pick<Comparison[number], 'rounds'>[]): Subject[] {
  return SUBJECT_NAMES.filter((subject) => first?.rounds[0]?.[subject] !== undefined)
}

/** Returns the sample of a subject that was compared. */
export function sampleIn(round: ComparedRound, subject: Subject): Sample {
  const sample = round[subject]
  if (sample === undefined) throw new Error(`${subject} was not measured`)
  return sample
}

/** Largest difference between rounds of a lower bound, as a share, with which a run is published. */
export const MAX_DRIFT = 0.15

/** Kind of body with which the rounds are compared. */
const CALIBRATION: BodyKind = '3.3 KB error'

const FEWER_CONNECTIONS = 4 // visitors who upload 10 MB at the same time

/** Starts each server once. It stays warm for the next kind of body. */
export async function compareSideBySide(
  plan: Plan,
  cores: Cores,
  sink: Sink,
  onStep: (step: string) => void,
): Promise<Comparison> {
  const dsns = dsnsOf(sink, 1)
  await using running = new AsyncDisposableStack()
  const servers: { name: Subject; server: Server; posted: number }[] = []
  for (const name of plan.subjects)
    servers.push({ name, server: running.use(await SUBJECTS[name].start(cores, dsns)), posted: 0 })
  const results: Comparison = []
  for (const kind of plan.bodies) {
    onStep(`${kind}: ${plan.subjects.length} subjects`)
    const connections = kind === '10 MB attachment' ? FEWER_CONNECTIONS : CONNECTIONS
    const targets = servers.map((server) => {
      const requests = buildRequests(kind, dsns, SUBJECTS[server.name].pathOf)
      return Object.assign(server, { requests, connections }) // the same object for all kinds: it counts what was posted
    })
    let played = 0
    const keep = (all: Round<Subject>[]) => {
      played = all.length
      return kind === CALIBRATION ? calmRounds(all) : all
    }
    const planned = kind === CALIBRATION ? plan.rounds : plan.roundsForBody
    const rounds = await playRounds(targets, planned, plan, sink, keep)
    results.push({ kind, rounds, dropped: played - rounds.length })
  }
  return results
}

/** Compares Culvert with the simpler servers, all over TLS to their upstream. */
export async function compareOverTls(
  plan: Plan,
  cores: Cores,
  onStep: (step: string) => void,
): Promise<Comparison> {
  await using sink = await openSink('https')
  const subjects = plan.subjects.filter((subject) => OVER_TLS_SUBJECTS.has(subject))
  const overTls: Plan = { ...plan, subjects, bodies: [CALIBRATION] }
  const compared = await compareSideBySide(overTls, cores, sink, onStep)
  return compared.map((each) => ({ ...each, kind: OVER_TLS }))
}

/** Returns as many rounds as possible between which bare Node.js differs by no more than `MAX_DRIFT`. */
function calmRounds<Played extends ComparedRound>(rounds: readonly Played[]): Played[] {
  let most: Played[] = []
  for (const { bare: fastest } of rounds) {
    const max = fastest.cpu * (1 + MAX_DRIFT)
    const similar = rounds.filter(({ bare }) => bare.cpu >= fastest.cpu && bare.cpu <= max)
    if (similar.length > most.length) most = similar
  }
  return most
}

/** Returns by how much the rounds of bare Node.js differ with an error, as a share: other processes were busy meanwhile. */
export function driftOf(sideBySide: Comparison): number {
  const calibrated = sideBySide.filter(({ kind }) => kind === CALIBRATION || kind === OVER_TLS)
  return Math.max(
    ...calibrated.map(({ rounds }) => {
      const { min, max } = spreadOf(rounds.map(({ bare }) => bare.cpu))
      return max / min - 1
    }),
  )
}
