/** Servers beside each other: fresh ones, warmed up, measured in rounds in which they take turns. */

import type { Requests } from '../load/requests.ts'
import type { Server } from '../load/server.ts'
import type { Sink } from '../load/sink.ts'
import { CONNECTIONS, type Figures, measure, type Subject } from './measure.ts'
import type { Plan } from './plan.ts'

export type Contender = {
  start(): Promise<Server>
  requests: Requests
  /** 32 unless given. */
  connections?: number
}

export type Round<Name extends string> = Record<Name, Figures>

/** One that takes part, and how much of it one measurement takes. */
type Entrant = { subject: Subject; posts: number }

export async function playRounds<Name extends string>(
  contenders: Record<Name, Contender>,
  rounds: number,
  plan: Plan,
  sink: Sink,
): Promise<Round<Name>[]> {
  await using running = new AsyncDisposableStack()
  const entrants: Entrant[] = []
  for (const [name, contender] of Object.entries<Contender>(contenders)) {
    const server = running.use(await contender.start())
    const { requests, connections = CONNECTIONS } = contender
    const subject = { name, server, requests, connections, posted: 0 }
    entrants.push({ subject, posts: await warmUp(subject, plan, sink) })
  }
  const played: Round<Name>[] = []
  for (let round = 0; round < rounds; round++)
    played.push((await playRound(inTurn(entrants, round), sink)) as Round<Name>)
  return played
}

/** Gives how many envelopes make a measurement: enough to be told from the clock's ticks, and not longer than is planned. */
export async function warmUp(subject: Subject, { warmUp, measured }: Plan, sink: Sink): Promise<number> {
  const { connections } = subject
  let last = await measure(subject, sink, connections)
  for (let spent = 0; spent < warmUp.seconds; spent += last.posts / last.rate) {
    const left = Math.ceil((warmUp.seconds - spent) * last.rate)
    last = await measure(subject, sink, Math.max(connections, Math.min(left, last.posts * 4))) // it gets quicker
  }
  const enough = Math.min((measured.cpuSeconds * 1e6) / Math.max(1, last.cpu), measured.seconds * last.rate)
  return Math.max(connections * measured.least, Math.ceil(enough))
}

/** Who begins is last in the next round: what comes before it is no one's burden alone. */
function inTurn(entrants: readonly Entrant[], round: number): Entrant[] {
  const first = round % entrants.length
  return [...entrants.slice(first), ...entrants.slice(0, first)]
}

async function playRound(entrants: readonly Entrant[], sink: Sink): Promise<Record<string, Figures>> {
  const figures: Record<string, Figures> = {}
  for (const { subject, posts } of entrants) figures[subject.name] = await measure(subject, sink, posts)
  return figures
}
