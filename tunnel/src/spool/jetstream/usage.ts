/**
 * How much of the spool each lane and each address fills, told among replicas.
 *
 * The server counts messages by subject, not their bytes, nor whose they are, so the replicas tell each other by plain messages what they add
 * and take away. The sums are approximate: what is told while a replica is cut off from the server is missed; a replica that starts asks one
 * of the others, and when none is there counts what it finds, up to a limit. They are right again whenever the spool is empty, and where
 * their number is not the server's, the mean size stands for the sum.
 */

import type { NatsConnection } from '@nats-io/transport-node'
import type { Waiting } from '../spool.ts'
import { laneOf } from './codec.ts'

export type Sum = { envelopes: number; bytes: number }

export type Shares = {
  /** Before it is put, so that many at one time are seen by each other. */
  add(waiting: Waiting): void
  remove(waiting: Waiting): void
  ofNetwork(network: string): number
  ofProject(project: string): number
  /** The bytes that `envelopes` of a lane have, by the server's own count. */
  ofLane(lane: string, envelopes: number): number
  /** Nothing waits. */
  reset(): void
}

type Change = { network: string; lane: string } & Sum
type Sums = { networks: [string, Sum][]; lanes: [string, Sum][] }

const CHANGES = 'culvert.spool.shares'
const QUESTIONS = 'culvert.spool.shares.ask'
const ASK_MS = 500
const TOLD = 5_000 // addresses in one answer, which must fit into a message; none of the others has more than so small a part

/**
 * The connection must not echo. `found` gives what waits already, for when no other replica can tell, `weigh` what one takes of the
 * stream.
 */
export async function openShares(
  nc: NatsConnection,
  found: () => AsyncIterable<Waiting>,
  weigh: (waiting: Waiting) => number,
): Promise<Shares> {
  const networks = new Map<string, Sum>()
  const lanes = new Map<string, Sum>()
  nc.subscribe(CHANGES, { callback: (error, message) => void (error || apply(message.json<Change>())) })
  const answer = await nc.request(QUESTIONS, '', { timeout: ASK_MS }).catch(() => undefined)
  if (answer) load(answer.json<Sums>())
  else for await (const waiting of found()) apply(changeBy(waiting, 1))
  nc.subscribe(QUESTIONS, {
    queue: 'any',
    callback: (error, message) => void (error || message.respond(JSON.stringify(largest()))),
  })
  return {
    add: (waiting) => tell(changeBy(waiting, 1)),
    remove: (waiting) => tell(changeBy(waiting, -1)),
    ofNetwork: (network) => networks.get(network)?.bytes ?? 0,
    ofProject,
    ofLane,
    reset,
  }

  function largest(): Sums {
    const byBytes = [...networks].sort(([, a], [, b]) => b.bytes - a.bytes)
    return { networks: byBytes.slice(0, TOLD), lanes: [...lanes] }
  }

  function load(sums: Sums): void {
    for (const [network, sum] of sums.networks) grow(networks, network, sum)
    for (const [lane, sum] of sums.lanes) grow(lanes, lane, sum)
  }

  function tell(change: Change): void {
    apply(change)
    nc.publish(CHANGES, JSON.stringify(change))
  }

  function apply(change: Change): void {
    if (change.network !== '') grow(networks, change.network, change)
    grow(lanes, change.lane, change)
  }

  function changeBy(waiting: Waiting, sign: 1 | -1): Change {
    const lane = laneOf(waiting)
    return { network: waiting.network, lane, envelopes: sign, bytes: sign * weigh(waiting) }
  }

  function ofProject(project: string): number {
    const token = Buffer.from(project).toString('base64url')
    let bytes = 0
    for (const [lane, sum] of lanes) if (lane.split('.', 3)[2] === token) bytes += sum.bytes
    return bytes
  }

  function ofLane(lane: string, envelopes: number): number {
    const sum = lanes.get(lane) ?? { envelopes: 0, bytes: 0 }
    if (sum.envelopes === envelopes) return sum.bytes
    const known = sum.envelopes > 0 ? [sum] : [...lanes.values()]
    return Math.round(envelopes * meanOf(known))
  }

  function reset(): void {
    networks.clear()
    lanes.clear()
  }
}

function grow(sums: Map<string, Sum>, name: string, { envelopes, bytes }: Sum): void {
  const old = sums.get(name)
  const sum = { envelopes: (old?.envelopes ?? 0) + envelopes, bytes: (old?.bytes ?? 0) + bytes }
  if (sum.envelopes > 0) sums.set(name, sum)
  else sums.delete(name)
}

function meanOf(sums: readonly Sum[]): number {
  const envelopes = sums.reduce((all, sum) => all + sum.envelopes, 0)
  return envelopes > 0 ? sums.reduce((all, sum) => all + sum.bytes, 0) / envelopes : 0
}
