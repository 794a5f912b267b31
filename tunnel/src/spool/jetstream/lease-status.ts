/**
 * What replicas are about with the envelopes they have taken. The server tells nobody of a single message whether it is leased, when it
 * comes again and how often it was delivered: the replicas do, when they are asked. What a replica that died knew is unknown.
 */

import type { NatsConnection } from '@nats-io/transport-node'

export type Progress = {
  seq: number
  attempts: number
  /** When the lease ends, or the time it was put off to. */
  due: number
  leased: boolean
}

const QUESTIONS = 'culvert.spool.progress'
const ANSWERS_MS = 500
const NO_MORE_MS = 100 // after the last answer

/** The connection must not echo. Gives what asks all replicas, this one included. */
export function openProgress(
  nc: NatsConnection,
  own: () => Progress[],
): () => Promise<Map<number, Progress>> {
  nc.subscribe(QUESTIONS, {
    callback: (error, message) => void (error || message.respond(JSON.stringify(own()))),
  })
  return async function all() {
    const bySeq = new Map<number, Progress>()
    for (const each of [...own(), ...(await others(nc))]) {
      const known = bySeq.get(each.seq)
      if (!known || each.due > known.due) bySeq.set(each.seq, each) // who took it last knows best
    }
    return bySeq
  }
}

async function others(nc: NatsConnection): Promise<Progress[]> {
  const told: Progress[] = []
  try {
    const answers = await nc.requestMany(QUESTIONS, '', {
      ...{ strategy: 'stall', maxWait: ANSWERS_MS, stall: NO_MORE_MS },
    })
    for await (const answer of answers) told.push(...answer.json<Progress[]>())
  } catch {
    // There is no other replica, or it does not answer: what it knows is not known.
  }
  return told
}
