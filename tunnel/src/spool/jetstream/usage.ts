/**
 * How much of the spool each lane and each address fills, told among replicas.
 *
 * The server counts messages by subject, not their bytes, nor whose they are, so the replicas tell each other by plain messages what they add
 * and take away. The sums are approximate: what is told while a replica is cut off from the server is missed; a replica that starts asks one
 * of the others, and when none is there counts what it finds, up to a limit. They are right again whenever the spool is empty, and where
 * their number is not the server's, the mean size stands for the sum.
 */

import type { NatsConnection } from '@nats-io/transport-node'
import type { SpoolEntry } from '../spool.ts'
import { partitionOf } from './codec.ts'

export type Sum = { envelopes: number; bytes: number }

export type Shares = {
  /** Before it is put, so that many at one time are seen by each other. */
  add(entry: SpoolEntry): void
  remove(entry: SpoolEntry): void
  ofNetwork(network: string): number
  ofProject(project: string): number
  /** The bytes that `envelopes` of a lane have, by the server's own count. */
  ofLane(partition: string, envelopes: number): number
  /** Nothing waits. */
  reset(): void
}

type Change = { network: string; partition: string } & Sum
type Sums = { networks: [string, Sum][]; partitions: [string, Sum][] }

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
  found: () => AsyncIterable<SpoolEntry>,
  weigh: (entry: SpoolEntry) => number,
): Promise<Shares> {
  const networks = new Map<string, Sum>()
  const partitions = new Map<string, Sum>()
  nc.subscribe(CHANGES, { callback: (error, message) => void (error || apply(message.json<Change>())) })
  const answer = await nc.request(QUESTIONS, '', { timeout: ASK_MS }).catch(() => undefined)
  if (answer) load(answer.json<Sums>())
  else for await (const entry of found()) apply(changeBy(entry, 1))
  nc.subscribe(QUESTIONS, {
    queue: 'any',
    callback: (error, message) => void (error || message.respond(JSON.stringify(largest()))),
  })
  return {
    add: (entry) => tell(changeBy(entry, 1)),
    remove: (entry) => tell(changeBy(entry, -1)),
    ofNetwork: (network) => networks.get(network)?.bytes ?? 0,
    ofProject,
    ofLane,
    reset,
  }

  function largest(): Sums {
    const byBytes = [...networks].sort(([, a], [, b]) => b.bytes - a.bytes)
    return { networks: byBytes.slice(0, TOLD), partitions: [...partitions] }
  }

  function load(sums: Sums): void {
    for (const [network, sum] of sums.networks) grow(networks, network, sum)
    for (const [partition, sum] of sums.partitions) grow(partitions, partition, sum)
  }

  function tell(change: Change): void {
    apply(change)
    nc.publish(CHANGES, JSON.stringify(change))
  }

  function apply(change: Change): void {
    if (change.network !== '') grow(networks, change.network, change)
    grow(partitions, change.partition, change)
  }

  function changeBy(entry: SpoolEntry, sign: 1 | -1): Change {
    const partition = partitionOf(entry)
    return { network: entry.network, partition, envelopes: sign, bytes: sign * weigh(entry) }
  }

  function ofProject(project: string): number {
    const token = Buffer.from(project).toString('base64url')
    let bytes = 0
    for (const [partition, sum] of partitions) if (partition.split('.', 3)[2] === token) bytes += sum.bytes
    return bytes
  }

  function ofLane(partition: string, envelopes: number): number {
    const sum = partitions.get(partition) ?? { envelopes: 0, bytes: 0 }
    if (sum.envelopes === envelopes) return sum.bytes
    const known = sum.envelopes > 0 ? [sum] : [...partitions.values()]
    return Math.round(envelopes * meanOf(known))
  }

  function reset(): void {
    networks.clear()
    partitions.clear()
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
