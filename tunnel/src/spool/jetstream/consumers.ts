/** Consumers of the streams, one for each project and category, and the leases on what they deliver. */

import { setTimeout as wait } from 'node:timers/promises'
import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  type JsMsg,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import type { EntryFilter, ListedEntry } from '../spool.ts'
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
import type { Connection } from './connection.ts'

/** Message that this replica has leased. */
export type Held = { entry: Entry; id: number; message: JsMsg; attempts: number; until: number }

/** Message that this replica has put off, without its body. */
type Postponed = Pick<Entry, 'key' | 'project' | 'category'> & {
  reply: string
  attempts: number
  due: number
}

type Delivered = { message: JsMsg; at: number }

/** After this the server delivers again what a replica that died had leased. */
const ACK_WAIT_MS = 30_000
const WORKING_MS = ACK_WAIT_MS / 3
const TICK_MS = 250
const MAX_ACK_PENDING = 50_000 // leased and put off, of one partition
const INACTIVE_MS = 60 * 60 * 1000 // 1 h
const FETCH_MS = 1_000 // the least
const FIRST_MS = 20 // until a fetch that delivers nothing is left to run
const NEXT_MS = 5
const UNTAKEN_MS = 2_500
const MAX_POSTPONED = 10_000
const NAK = '-NAK'

export class Consumers {
  readonly #connection: Connection
  readonly #now: () => number
  readonly #queues = new Map<string, Queue>()
  readonly #leases = new Map<number, Held & { confirmed: number }>()
  readonly #postponed = new Map<number, Postponed>()
  readonly #timer: NodeJS.Timeout

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection
    this.#now = now
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  /** Leases up to `limit` messages of a partition. */
  async take(partition: Partition, limit: number, leaseMs: number): Promise<Held[]> {
    const taken: Held[] = []
    const queue = this.#queueOf(partition)
    for (const message of await queue.take(limit)) {
      const held = this.#lease(partition, message, leaseMs)
      if (held) taken.push(held)
    }
    return taken
  }

  held(id: number): Held | undefined {
    return this.#leases.get(id)
  }

  /** Describes an entry, with what this replica knows of its lease. */
  describe(entry: Entry, id: number, place: number): ListedEntry {
    const [lease, postponed] = [this.#leases.get(id), this.#postponed.get(id)]
    const due = lease?.until ?? postponed?.due ?? entry.due ?? 0
    return {
      ...toSpoolEntry(entry),
      ...{ id, place, attempts: lease?.attempts ?? postponed?.attempts ?? 0 },
      leased: lease !== undefined || (entry.due ?? 0) > this.#now(),
      ...(due > this.#now() && due < Infinity && { due }),
    }
  }

  /** Has no effect on a lease that this replica does not hold. */
  extend(id: number, until: number): void {
    const lease = this.#leases.get(id)
    if (lease) lease.until = until
  }

  /** Has no effect on a lease that this replica does not hold. */
  async postpone(id: number, due: number): Promise<void> {
    const lease = this.#leases.get(id)
    if (!lease) return
    this.#leases.delete(id)
    const [oldest] = this.#postponed.keys()
    if (this.#postponed.size === MAX_POSTPONED && oldest !== undefined) this.#postponed.delete(oldest)
    const { entry, message, attempts } = lease
    const { key, project, category } = entry
    this.#postponed.set(id, { key, project, category, reply: replyOf(message), attempts, due })
    message.nak(Math.max(0, due - this.#now()))
    await this.#connection.nc.flush()
  }

  forget(id: number): void {
    this.#leases.delete(id)
    this.#postponed.delete(id)
  }

  /** Has the server deliver now what this replica has put off, and returns how many messages that are. */
  retry({ entry, projects, category }: EntryFilter): number {
    let retried = 0
    for (const [id, its] of this.#postponed) {
      if (entry && (id !== entry.id || its.key !== entry.key)) continue
      if (projects && !projects.includes(its.project)) continue
      if (category !== undefined && category !== its.category) continue
      this.#postponed.delete(id)
      this.#connection.nc.publish(its.reply, NAK) // JsMsg sends one answer only, and that was nak(delay)
      retried++
    }
    return retried
  }

  /** Stops fetching, and gives back what was fetched and not taken. */
  release(isReleased: (partition: Partition) => boolean): void {
    for (const queue of this.#queues.values()) if (isReleased(queue.partition)) queue.stop()
  }

  close(): void {
    clearInterval(this.#timer)
    this.release(() => true)
    for (const { message } of this.#leases.values()) message.nak()
    this.#leases.clear()
    this.#postponed.clear()
  }

  #queueOf(partition: Partition): Queue {
    const name = subjectOf(partition)
    const queue = this.#queues.get(name) ?? new Queue(this.#connection, partition, this.#now)
    this.#queues.set(name, queue)
    return queue
  }

  /** Gives back a message whose putter still has a lease on it. One that is delivered again during its lease only replaces the first. */
  #lease({ priority }: Partition, message: JsMsg, leaseMs: number): Held | undefined {
    const entry = decodeEntry(message.headers)
    const now = this.#now()
    if (!entry) {
      message.term('not an entry of Culvert')
      return undefined
    }
    if (entry.due !== undefined && entry.due > now) {
      message.nak(entry.due - now)
      return undefined
    }
    const id = encodeId(priority, message.seq)
    const leased = this.#leases.get(id)
    if (leased) {
      Object.assign(leased, { message, confirmed: now })
      return undefined
    }
    const { deliveryCount } = message.info
    const attempts = deliveryCount - (entry.due !== undefined && deliveryCount > 1 ? 1 : 0) // one came within the putter's lease, as a rule
    const held = { entry, id, message, attempts, until: now + leaseMs }
    this.#postponed.delete(id)
    this.#leases.set(id, { ...held, confirmed: now })
    return held
  }

  /** Confirms leases, and ends those whose time is over. */
  #tick(): void {
    const now = this.#now()
    for (const [id, lease] of this.#leases) {
      if (lease.until <= now) {
        lease.message.nak()
        this.#leases.delete(id)
      } else if (lease.confirmed < now - WORKING_MS) {
        lease.message.working()
        lease.confirmed = now
      }
    }
    for (const [id, { due }] of this.#postponed) if (due <= now) this.#postponed.delete(id)
    for (const queue of this.#queues.values()) queue.releaseOld(now - UNTAKEN_MS)
  }
}

/** Fetch of one partition, and the messages that it has delivered and nobody has taken yet. */
class Queue {
  readonly partition: Partition
  readonly #connection: Connection
  readonly #now: () => number
  #delivered: Delivered[] = []
  #consumer: Promise<Consumer> | undefined
  #messages: ConsumerMessages | undefined
  #isIdle = false
  #wanted = 0
  #onEnough = () => {}

  constructor(connection: Connection, partition: Partition, now: () => number) {
    this.#connection = connection
    this.partition = partition
    this.#now = now
  }

  /** Asks the server for no more than is taken. A fetch that delivers nothing at once stays open for the next call, which does not wait for it. */
  async take(limit: number): Promise<JsMsg[]> {
    if (this.#delivered.length < limit) {
      if (!this.#messages) await this.#fetch(limit)
      if (!this.#isIdle) await this.#settle(limit)
    }
    return this.#delivered.splice(0, limit).map(({ message }) => message)
  }

  releaseOld(before: number): void {
    while (this.#delivered[0] && this.#delivered[0].at < before) this.#delivered.shift()?.message.nak()
  }

  stop(): void {
    this.#messages?.stop()
    this.#messages = undefined
    this.releaseOld(Infinity)
  }

  async #fetch(limit: number): Promise<void> {
    this.#consumer ??= this.#openConsumer()
    try {
      const consumer = await this.#consumer
      if (this.#messages) return // another call was first
      const options = { max_messages: limit - this.#delivered.length, expires: FETCH_MS }
      this.#messages = await consumer.fetch(options)
      this.#isIdle = false
    } catch (error) {
      this.#consumer = undefined
      throw error
    }
    void this.#receive(this.#messages)
  }

  async #openConsumer(): Promise<Consumer> {
    const { js, jsm } = this.#connection
    const { stream } = classOf(this.partition)
    const name = consumerOf(this.partition)
    await jsm.consumers.add(stream, {
      durable_name: name,
      filter_subject: subjectOf(this.partition),
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ACK_WAIT_MS),
      max_ack_pending: MAX_ACK_PENDING,
      inactive_threshold: nanos(INACTIVE_MS),
    })
    return js.consumers.get(stream, name)
  }

  async #receive(messages: ConsumerMessages): Promise<void> {
    try {
      for await (const message of messages) {
        this.#delivered.push({ message, at: this.#now() })
        this.#isIdle = false
        if (this.#delivered.length >= this.#wanted) this.#onEnough()
      }
    } catch {
      this.#consumer = undefined // it is gone, or the server is: the next take opens it again
    } finally {
      if (this.#messages === messages) this.#messages = undefined
      this.#onEnough()
    }
  }

  /** Waits until there is enough, or nothing more comes at once. */
  async #settle(limit: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#onEnough = resolve
    })
    this.#wanted = limit
    for (let seen = -1; seen < this.#delivered.length && this.#delivered.length < limit && this.#messages; ) {
      seen = this.#delivered.length
      await Promise.race([enough, wait(seen === 0 ? FIRST_MS : NEXT_MS)])
    }
    this.#isIdle = this.#delivered.length === 0
  }
}

/** Returns the subject that a message is answered on. The type leaves it out. */
function replyOf(message: JsMsg): string {
  return 'reply' in message && typeof message.reply === 'string' ? message.reply : ''
}
