/** Consumers of the streams, one for each project and category, and the leases on their messages. */

import { setTimeout as wait } from 'node:timers/promises'
import { AckPolicy, type Consumer, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { BoundedMap } from '../../pipeline/bounded-map.ts'
import type { EntryFilter, ListedEntry } from '../../pipeline/spool.ts'
import {
  classOf,
  consumerOf,
  decodeEntry,
  type Entry,
  encodeId,
  type Partition,
  subjectOf,
  toSpoolEntry,
} from './codec.ts'
import type { Server } from './nats-server.ts'
import type { ServerClock } from './server-clock.ts'

type Delivered = { entry: Entry; id: number; attempts: number; until: number }

/** Message that this replica has leased until a time. */
export type Held = Delivered & { message: JsMsg }

/** Message that the server delivers again at a time, unless it is asked to do so earlier. */
type Postponed = Delivered & { reply: string }

/** Request to deliver entries earlier that were put off. */
export type Retry = { which: EntryFilter; due?: number; isPutOver?: boolean }

/** Time after which the server delivers the leased messages of a dead replica again. */
const ACK_WAIT_MS = 30_000
const WORKING_MS = 10_000
const TICK_MS = 250
const MAX_ACK_PENDING = 50_000 // leased and put off, of one partition
const INACTIVE_MS = 60 * 60 * 1000 // 1 h
const FETCH_MS = 1_000 // the least
const SETTLE_MS = 20
const UNTAKEN_MS = 2_500
const MAX_POSTPONED = 10_000

export class Consumers {
  readonly #server: Server
  readonly #clock: ServerClock
  readonly #queues = new Map<string, Queue>()
  readonly #leases = new Map<number, Held>()
  readonly #postponed = new BoundedMap<number, Postponed>(MAX_POSTPONED)
  /** Numbers of entries whose putter has ended its lease early. */
  readonly #endedPuts = new BoundedMap<number, true>(MAX_POSTPONED)
  readonly #timers: NodeJS.Timeout[]

  constructor(server: Server, clock: ServerClock) {
    this.#server = server
    this.#clock = clock
    this.#timers = [
      setInterval(() => this.#endLeases(), TICK_MS).unref(),
      setInterval(() => this.#extendLeases(), WORKING_MS).unref(),
    ]
  }

  /** Leases up to `limit` messages of a partition. */
  async take(partition: Partition, limit: number, leaseMs: number): Promise<Held[]> {
    const taken = (await this.#queueOf(partition).take(limit)).filter(
      (held) => this.#leases.get(held.id) === held,
    )
    for (const held of taken) held.until = this.#clock.serverNow() + leaseMs
    return taken
  }

  held(id: number): Held | undefined {
    return this.#leases.get(id)
  }

  /** Describes an entry, with what this replica knows of its lease. */
  describe(entry: Entry, id: number, place: number): ListedEntry {
    const lease = this.#leases.get(id)
    const ofPut = this.#isPutPending(entry, id) ? (entry.due ?? 0) : 0
    const { attempts = 0, until = ofPut } = lease ?? this.#postponed.get(id) ?? {}
    const due = until > this.#clock.serverNow() && until < Infinity && { due: this.#clock.toLocal(until) }
    const leased = lease !== undefined || ofPut > 0
    return { ...toSpoolEntry(entry), id, place, attempts, leased, ...due }
  }

  /** Has no effect on a lease that this replica does not hold. */
  extend(id: number, until: number): void {
    const lease = this.#leases.get(id)
    if (lease) lease.until = until
  }

  /** Returns `false` for a lease that this replica does not hold. */
  async postpone(id: number, due: number): Promise<boolean> {
    const lease = this.#leases.get(id)
    if (!lease) return false
    this.#leases.delete(id)
    this.#delay(lease, due)
    await this.#server.nc.flush()
    return true
  }

  forget(id: number): void {
    this.#leases.delete(id)
    this.#postponed.delete(id)
    this.#endedPuts.delete(id)
  }

  /**
   * Has the server deliver at `due` what this replica has put off, and returns how many messages that are. With `isPutOver`, the first
   * attempt of the entry has failed. The server delivers the message immediately if it arrives later.
   */
  retry({ which: { entry, projects, category }, due = 0, isPutOver }: Retry): number {
    if (entry && isPutOver) this.#endedPuts.set(entry.id, true)
    let retried = 0
    for (const postponed of this.#postponed.values()) {
      const { id, entry: its } = postponed
      if (this.#isPutPending(its, id)) continue
      if (entry && (id !== entry.id || its.key !== entry.key)) continue
      if (projects && !projects.includes(its.project)) continue
      if (category !== undefined && category !== its.category) continue
      postponed.until = due
      const delay = nanos(Math.max(0, due - this.#clock.serverNow())) // JsMsg sends one answer only, and that was the first delay
      this.#server.nc.publish(postponed.reply, `-NAK ${JSON.stringify({ delay })}`)
      retried++
    }
    return retried
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    for (const queue of this.#queues.values()) queue.stop()
    for (const held of this.#leases.values()) this.#giveBack(held)
  }

  #queueOf(partition: Partition): Queue {
    const name = subjectOf(partition)
    const lease = (message: JsMsg) => this.#lease(partition, message)
    const queue = this.#queues.get(name) ?? new Queue(this.#server, partition, lease)
    this.#queues.set(name, queue)
    return queue
  }

  /**
   * Leases a message until it is taken. Gives one back whose putter still has a lease on it. One that is delivered again during its lease
   * only replaces the first.
   */
  #lease({ priority }: Partition, message: JsMsg): Held | undefined {
    const sent = decodeEntry(message.headers)
    if (!sent) {
      message.term('not an entry of Culvert')
      return undefined
    }
    const entry = this.#clock.withLocalTimes(sent)
    const id = encodeId(priority, message.seq)
    const until = this.#clock.serverNow() + UNTAKEN_MS
    const held = { entry, id, attempts: message.info.deliveryCount, until, message }
    const leased = this.#leases.get(id)
    if (leased) leased.message = message
    else if (this.#isPutPending(entry, id)) this.#delay(held, entry.due ?? 0)
    else {
      this.#postponed.delete(id)
      this.#leases.set(id, held)
      return held
    }
    return undefined
  }

  #giveBack({ id, message }: Held): void {
    message.nak()
    this.#leases.delete(id)
  }

  #delay({ message, ...delivered }: Held, due: number): void {
    message.nak(Math.max(0, due - this.#clock.serverNow()))
    this.#postponed.set(delivered.id, { ...delivered, until: due, reply: replyOf(message) })
  }

  /** Returns `true` while the replica that put an entry makes the first attempt to deliver it. */
  #isPutPending(entry: Entry, id: number): boolean {
    return (entry.due ?? 0) > this.#clock.serverNow() && !this.#endedPuts.has(id)
  }

  #extendLeases(): void {
    for (const { message } of this.#leases.values()) message.working()
  }

  /** Ends leases and delays whose time is over. */
  #endLeases(): void {
    const now = this.#clock.serverNow()
    for (const held of this.#leases.values()) if (held.until <= now) this.#giveBack(held)
    for (const [id, { until }] of this.#postponed) if (until <= now) this.#postponed.delete(id)
  }
}

/** Fetch of one partition, and the messages that it has delivered and no `take` has returned yet. */
class Queue {
  readonly #partition: Partition
  readonly #server: Server
  readonly #lease: (message: JsMsg) => Held | undefined
  #held: Held[] = []
  #consumer: Consumer | undefined
  #messages: ConsumerMessages | undefined
  #onSettled = () => {}

  constructor(server: Server, partition: Partition, lease: (message: JsMsg) => Held | undefined) {
    this.#server = server
    this.#partition = partition
    this.#lease = lease
  }

  /** Asks the server for no more than is taken. A fetch that is not complete at once stays open for the next calls, which do not wait for it. */
  async take(limit: number): Promise<Held[]> {
    if (this.#held.length < limit && !this.#messages) {
      this.#consumer ??= await this.#openConsumer()
      const max_messages = limit - this.#held.length
      this.#messages = await this.#consumer.fetch({ max_messages, expires: FETCH_MS })
      const settled = new Promise<void>((resolve) => {
        this.#onSettled = resolve
      })
      void this.#receive(this.#messages)
      await Promise.race([settled, wait(SETTLE_MS)])
    }
    return this.#held.splice(0, limit)
  }

  stop(): void {
    this.#messages?.stop()
  }

  async #openConsumer(): Promise<Consumer> {
    const { js, jsm } = this.#server
    const info = await jsm.consumers.add(classOf(this.#partition).stream, {
      durable_name: consumerOf(this.#partition),
      filter_subject: subjectOf(this.#partition),
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ACK_WAIT_MS),
      max_ack_pending: MAX_ACK_PENDING,
      inactive_threshold: nanos(INACTIVE_MS),
    })
    return js.consumers.getConsumerFromInfo(info)
  }

  async #receive(messages: ConsumerMessages): Promise<void> {
    try {
      for await (const message of messages) {
        const held = this.#lease(message)
        if (held) this.#held.push(held)
        if (message.info.pending === 0) this.#onSettled()
      }
    } catch {
      this.#consumer = undefined // it is gone, or the server is: the next take opens it again
    } finally {
      this.#messages = undefined
      this.#onSettled()
    }
  }
}

/** Returns the subject that a message is answered on. The type leaves it out. */
function replyOf(message: JsMsg): string {
  return 'reply' in message && typeof message.reply === 'string' ? message.reply : ''
}
