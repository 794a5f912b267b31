/** Takes messages from the stream, lane by lane, and holds the leases on them. */

import { createHash } from 'node:crypto'
import { AckPolicy, DeliverPolicy, type JetStreamManager } from '@nats-io/jetstream'
import { createInbox, type Msg, type NatsConnection, nanos } from '@nats-io/transport-node'
import { priorityOf } from '../../envelope/priorities.ts'
import type { Pause, ProjectDemand } from '../spool.ts'
import {
  decodeEntry,
  ENVELOPES,
  type Entry,
  type NamedPartition,
  parsePartition,
  STREAM,
  type Turn,
  turnOf,
  uploadOf,
} from './codec.ts'
import type { Progress } from './lease-status.ts'
import type { Pauses } from './pauses.ts'

/** A message that was delivered to us. */
export type Taken = {
  entry: Entry
  body: Buffer
  /** Names the parts, when the body is in several. */
  upload: string | undefined
  seq: number
  attempts: number
  until: number
}

export type CountedPartition = NamedPartition & { envelopes: number; turns: Turn[] }

export type PartitionState = {
  partitions: CountedPartition[]
  messages: number
  bytes: number
  paused: Pause[]
}

export type Partitions = {
  look(): Promise<PartitionState>
  take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Promise<Taken[]>
  /** What a lease taken here is on, as long as it lasts. */
  held(seq: number): Taken | undefined
  /** Both say whether the lease was taken here and has not ended. */
  extend(seq: number, until: number): boolean
  postpone(seq: number, at: number): Promise<boolean>
  forget(seq: number): void
  /** What is leased here, and what was put off here. */
  progress(): Progress[]
  close(): void
}

type Held = Taken & { reply: string; timer: NodeJS.Timeout }

/** After this the server gives to others what a replica that died had; one that lives says in time that it goes on. */
const ACK_WAIT_MS = 30_000
const MAX_OUT = 50_000 // messages a lane may have leased or put off
const IDLE_MS = 60 * 60 * 1000 // 1 h: the consumer of a lane that nobody takes from is dropped, and made again when it is wanted
const PULL_MS = 5_000
const PULL_BYTES = 16 * 1024 * 1024 // 16 MiB in memory at a time
const PUT_OFF_KNOWN = 10_000 // times remembered for whoever asks
const IN_PROGRESS = '+WPI'

export function openPartitions(
  nc: NatsConnection,
  jsm: JetStreamManager,
  pauses: Pauses,
  now: () => number,
): Partitions {
  const consumers = new Set<string>()
  const leases = new Map<number, Held>()
  const putOff = new Map<number, Progress>()
  let turns = 0
  return { look, take, held: (seq) => leases.get(seq), extend, postpone, forget, progress, close }

  async function look(): Promise<PartitionState> {
    const [{ state }, paused] = await Promise.all([
      jsm.streams.info(STREAM, { subjects_filter: ENVELOPES }),
      pauses.all(),
    ])
    const bySubject = new Map<string, CountedPartition>()
    for (const [subject, envelopes] of Object.entries(state.subjects ?? {})) {
      const partition = parsePartition(subject)
      const known = bySubject.get(partition.subject)
      bySubject.set(partition.subject, {
        ...partition,
        envelopes: envelopes + (known?.envelopes ?? 0),
        turns: [...new Set([...(known?.turns ?? []), turnOf(subject)])],
      })
    }
    const { messages, bytes } = state
    return { partitions: [...bySubject.values()], messages, bytes, paused }
  }

  async function take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Promise<Taken[]> {
    const taken: Taken[] = []
    const heldBack = new Map(wanted.map((each) => [each.project, each.rateLimitedCategories]))
    const { partitions, paused } = await look()
    for (const { project } of paused) {
      if (project === undefined) return []
      heldBack.delete(project)
    }
    for (const partition of inTurn(partitions)) {
      if (taken.length >= limit) break
      if (heldBack.get(partition.project)?.includes(partition.category) ?? true) continue
      taken.push(...(await takeFrom(partition, limit - taken.length, leaseMs)))
    }
    return taken
  }

  /** The most important first; of equal ones another begins each time, so that no project waits for another's flood. */
  function inTurn(all: readonly NamedPartition[]): NamedPartition[] {
    const start = turns++ % Math.max(1, all.length)
    return [...all.slice(start), ...all.slice(0, start)].sort(
      (a, b) => priorityOf(a.category) - priorityOf(b.category),
    )
  }

  /** What is not due yet is sent back until it is, and others are asked for in its place. */
  async function takeFrom(partition: NamedPartition, limit: number, leaseMs: number): Promise<Taken[]> {
    const taken: Taken[] = []
    for (;;) {
      const messages = await pull(partition, limit - taken.length)
      for (const message of messages) {
        const lease = receive(message, now() + leaseMs)
        if (lease) taken.push(lease)
      }
      if (messages.length === 0 || taken.length >= limit) return taken
    }
  }

  /** In a cluster the word that no more will come overtakes messages, whose delivery the servers agree on first: it says how many are due. */
  async function pull(partition: NamedPartition, batch: number): Promise<Msg[]> {
    const consumer = await consumerOf(partition)
    const messages: Msg[] = []
    const sub = nc.subscribe(createInbox(), { max: batch + 1 })
    const timer = setTimeout(() => sub.unsubscribe(), PULL_MS)
    nc.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumer}`,
      JSON.stringify({ batch, no_wait: true, max_bytes: PULL_BYTES }),
      { reply: sub.getSubject() },
    )
    let due = batch
    for await (const message of sub) {
      const { headers } = message
      if (!headers?.code) messages.push(message)
      else due = batch - Number(headers.get('Nats-Pending-Messages') || batch) // those it says it did not send
      if (headers?.code === 503) consumers.delete(consumer)
      if (messages.length >= due) break
    }
    clearTimeout(timer)
    return messages
  }

  async function consumerOf(partition: NamedPartition): Promise<string> {
    const name = `${partition.priority}-${partition.category || 'none'}-${createHash('sha256').update(partition.subject).digest('hex').slice(0, 16)}`
    if (consumers.has(name)) return name
    await jsm.consumers.add(STREAM, {
      durable_name: name,
      filter_subject: `${partition.subject}.>`,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ACK_WAIT_MS),
      max_ack_pending: MAX_OUT,
      inactive_threshold: nanos(IDLE_MS),
    })
    consumers.add(name)
    return name
  }

  function receive(message: Msg, until: number): Taken | undefined {
    const { reply = '', data, headers } = message
    const { deliveries, seq } = parseReply(reply)
    const entry = decodeEntry(headers)
    if (entry.due !== undefined && entry.due > now()) {
      nc.publish(reply, sendBack(entry.due - now()))
      return undefined
    }
    // One that came with a lease was, as a rule, delivered once before that had ended.
    const attempts = (entry.attempts ?? 0) + deliveries - (entry.due !== undefined && deliveries > 1 ? 1 : 0)
    const body = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    const taken = { entry, body, upload: uploadOf(message.subject), seq, attempts, until }
    hold({ ...taken, reply })
    return taken
  }

  function hold(lease: Omit<Held, 'timer'>): void {
    clearTimeout(leases.get(lease.seq)?.timer)
    putOff.delete(lease.seq)
    const rest = Math.max(0, lease.until - now())
    const timer = setTimeout(() => goOn(lease), Math.min(rest, ACK_WAIT_MS / 3))
    leases.set(lease.seq, { ...lease, timer })
  }

  /** Until its end a lease is kept up; then the message is anybody's. */
  function goOn(lease: Omit<Held, 'timer'>): void {
    if (lease.until > now()) {
      nc.publish(lease.reply, IN_PROGRESS)
      hold(lease)
    } else {
      nc.publish(lease.reply, sendBack(0))
      leases.delete(lease.seq)
    }
  }

  function extend(seq: number, until: number): boolean {
    const lease = leases.get(seq)
    if (!lease) return false
    nc.publish(lease.reply, IN_PROGRESS)
    hold({ ...lease, until })
    return true
  }

  async function postpone(seq: number, at: number): Promise<boolean> {
    const lease = leases.get(seq)
    if (!lease) return false
    forget(seq)
    nc.publish(lease.reply, sendBack(at - now()))
    await nc.flush()
    remember({ seq, attempts: lease.attempts, due: at, leased: false })
    return true
  }

  function remember(its: Progress): void {
    const [oldest] = putOff.keys()
    if (putOff.size === PUT_OFF_KNOWN && oldest !== undefined) putOff.delete(oldest)
    putOff.set(its.seq, its)
  }

  function progress(): Progress[] {
    const held = [...leases.values()].map(({ seq, attempts, until }) => ({
      ...{ seq, attempts, due: until, leased: true },
    }))
    return [...held, ...[...putOff.values()].filter(({ due }) => due > now())]
  }

  function forget(seq: number): void {
    clearTimeout(leases.get(seq)?.timer)
    leases.delete(seq)
    putOff.delete(seq)
  }

  function close(): void {
    for (const seq of [...leases.keys()]) forget(seq)
  }
}

/** A rejection of the message, with the time after which it may be delivered again. */
function sendBack(ms: number): string {
  return ms > 0 ? `-NAK {"delay": ${Math.ceil(ms) * 1_000_000}}` : '-NAK'
}

/** `$JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.…`, or with domain and account before the stream (NATS ADR-15). */
function parseReply(reply: string): { deliveries: number; seq: number } {
  const tokens = reply.split('.')
  const at = tokens.length > 9 ? 6 : 4
  return { deliveries: Number(tokens[at]), seq: Number(tokens[at + 1]) }
}
