/** Spool of several machines, on NATS JetStream. */

import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type {
  EntryFilter,
  EntryRef,
  Lease,
  ListedEntry,
  PageQuery,
  ProjectDemand,
  PutResult,
  Spool,
  SpoolBody,
  SpoolBounds,
  SpoolEntry,
  SpoolTotals,
  StoredBody,
} from '../spool.ts'
import {
  CLASSES,
  type Entry,
  encodeId,
  INLINE_BYTES,
  NAME,
  type Partition,
  storedBytes,
  subjectsWithin,
  toSpoolEntry,
} from './codec.ts'
import { Connection } from './connection.ts'
import { Consumers, type Held } from './consumers.ts'
import { Health } from './health.ts'
import { listEntries } from './listing.ts'
import { Messages } from './messages.ts'
import type { NatsAddress } from './nats-url.ts'
import { Partitions } from './partitions.ts'
import { Removals } from './removals.ts'
import { ALL, State } from './state.ts'

export type JetStreamBounds = Omit<SpoolBounds, 'bytes'> & {
  /** `undefined` keeps the bounds of streams that exist. */
  bytes: number | undefined
  /** Milliseconds after which tunnels end an entry as expired. */
  ageMs: number
}

const COMMANDS = 'culvert.spool-retry'
const LOOK_MS = 500
const CLOSE_MS = 500
const STALL_MS = 300
const REPLICAS_MS = 2_000
const ENDED = 5_000 // purged, or expired of a class, in one call

/** Rejects with `NatsAway` when no usable server answers, and with another error when its streams would lose entries. */
export async function openJetStreamSpool(
  address: NatsAddress,
  bounds: JetStreamBounds,
  now: () => number,
): Promise<Spool> {
  const connection = await Connection.open(address, bounds)
  try {
    const health = new Health(connection, await connection.openStreams())
    const spool = new JetStreamSpool(connection, health, bounds, now)
    await spool.start()
    return spool
  } catch (error) {
    await connection.close()
    throw error
  }
}

class JetStreamSpool implements Spool {
  readonly #connection: Connection
  readonly #health: Health
  readonly #messages: Messages
  readonly #consumers: Consumers
  readonly #partitions: Partitions
  readonly #removals: Removals
  readonly #state: State
  readonly #now: () => number
  readonly #closing = new AbortController()
  #lost = 0

  constructor(connection: Connection, health: Health, bounds: JetStreamBounds, now: () => number) {
    this.#connection = connection
    this.#health = health
    this.#messages = new Messages(connection, health)
    this.#consumers = new Consumers(connection, now)
    this.#partitions = new Partitions(health, this.#messages, bounds)
    this.#removals = new Removals(this.#messages, this.#consumers, this.#partitions, this.#closing.signal)
    this.#state = new State(health)
    this.#now = now
  }

  async start(): Promise<void> {
    const { counts } = await this.#partitions.totals()
    this.#lost = await this.#state.countLost(counts, this.#now())
    this.#connection.nc.subscribe(COMMANDS, {
      callback: (error, message) => {
        if (!error) message.respond(JSON.stringify(this.#consumers.retry(message.json<EntryFilter>())))
      },
    })
  }

  get id(): string {
    return `${NAME}-${this.#health.streams.classes[0]?.info.created}`
  }

  get maxBytes(): number {
    const { classes } = this.#health.streams
    return Math.round(
      classes.reduce((sum, { maxBytes }, i) => sum + maxBytes / (CLASSES[i]?.share ?? 1), 0) / CLASSES.length,
    )
  }

  async put(entry: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    const reason = this.#partitions.shareReached(entry)
    if (reason) return { kind: 'full', reason }
    const until = this.#now() + leaseMs
    const isLarge = storedBytes(entry) > INLINE_BYTES
    const mark = randomUUID()
    const waiting: Entry = { ...entry, mark, ...(leaseMs > 0 && { due: until }) }
    this.#partitions.add(entry)
    let seq: number | undefined
    try {
      const result = await (isLarge
        ? this.#messages.publishObject(waiting, mark, body)
        : this.#messages.publishWhole(waiting, body))
      if (result === 'known') return { kind: 'known' }
      if (result === 'full') return { kind: 'full', reason: 'bound' }
      seq = result
    } finally {
      if (seq === undefined) this.#partitions.remove(entry)
    }
    const [id, file] = [encodeId(entry.priority, seq), isLarge ? { file: mark } : {}]
    return { kind: 'stored', lease: { ...entry, ...file, id, attempts: 0, until }, evicted: [] }
  }

  async probe(): Promise<void> {
    if (!(await this.#health.isWritable())) throw this.#health.failure
    await this.#state.probe()
  }

  async take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Promise<Lease[]> {
    this.#closing.signal.throwIfAborted()
    if (!(await this.#health.isWritable())) return []
    const [paused] = await Promise.all([this.#state.paused(), this.#partitions.look(LOOK_MS)])
    const isPaused = ({ project }: Partition) => ALL in paused || project in paused
    this.#consumers.release(isPaused)
    const taken: Held[] = []
    for (const partition of this.#partitions.inTurn(wanted)) {
      if (taken.length >= limit) break
      if (!isPaused(partition))
        taken.push(...(await this.#consumers.take(partition, limit - taken.length, leaseMs)))
    }
    return taken.map(({ entry, id, attempts, until }) => ({ ...toSpoolEntry(entry), id, attempts, until }))
  }

  async read({ id, key }: SpoolEntry & EntryRef): Promise<StoredBody> {
    const held = this.#consumers.held(id)
    const stored = held ? { entry: held.entry, data: held.message.data } : await this.#messages.get(id)
    if (stored?.entry.key !== key) throw new Error('it is gone: another replica has settled it')
    const { data, entry } = stored
    const { file } = entry
    if (file === undefined) return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    return { open: () => this.#messages.readObject(entry, file) }
  }

  async extend(lease: Lease, leaseMs: number): Promise<Lease> {
    const until = this.#now() + leaseMs
    this.#consumers.extend(lease.id, until)
    return { ...lease, until }
  }

  /** Keeps its lease and tries until the server has deleted it, since what is not deleted is delivered again. */
  finish(lease: Lease): Promise<boolean> {
    this.#consumers.extend(lease.id, Infinity)
    return this.#removals.insistOnRemoval(lease.id, lease, this.#closing.signal)
  }

  /** Has no effect on the lease of a put: no consumer has delivered that message to this replica, and it is due when the lease ends. */
  async postpone(lease: Lease, at: number): Promise<void> {
    await this.#consumers.postpone(lease.id, at)
  }

  async expire(before: number): Promise<SpoolEntry[]> {
    const expired: SpoolEntry[] = []
    for (const priority of CLASSES.keys()) {
      const subjects = subjectsWithin(priority, {})
      const first = await this.#messages.first(priority, subjects[0] ?? '')
      if (!first || first.entry.received >= before) continue
      expired.push(
        ...(await this.#removals.removeWithin(priority, subjects, ENDED, (entry) => entry.received < before)),
      )
    }
    return expired
  }

  async totals(): Promise<SpoolTotals> {
    const [totals, paused] = await Promise.all([this.#partitions.totals(), this.#state.pauses()])
    void this.#state.remember(totals.counts).catch(() => undefined) // a later one is stored
    const lost = this.#lost + this.#health.lost
    const { failure } = this.#health
    const { counts: _, ...rest } = totals
    return { ...rest, paused, ...(lost > 0 && { lost }), ...(failure && { problem: failure.message }) }
  }

  list(query: PageQuery): Promise<ListedEntry[]> {
    return listEntries(this.#messages, this.#consumers, query)
  }

  async find({ id, key }: EntryRef): Promise<ListedEntry | undefined> {
    const stored = await this.#messages.get(id)
    if (stored?.entry.key !== key) return undefined
    return this.#consumers.describe(stored.entry, id, id)
  }

  /** Each replica delivers again what it has put off itself. */
  async retry(which: EntryFilter): Promise<number> {
    let retried = this.#consumers.retry(which)
    const options = { strategy: 'stall', stall: STALL_MS, maxWait: REPLICAS_MS } as const
    const { nc } = this.#connection
    for await (const answer of await nc.requestMany(COMMANDS, JSON.stringify(which), options)) {
      if (answer.data.length > 0) retried += answer.json<number>()
    }
    return retried
  }

  async purge(which: EntryFilter): Promise<SpoolEntry[]> {
    if (which.entry) {
      const stored = await this.#messages.get(which.entry.id)
      if (stored?.entry.key !== which.entry.key) return []
      return (await this.#removals.removeSoon(which.entry.id, stored.entry))
        ? [toSpoolEntry(stored.entry)]
        : []
    }
    const purged: SpoolEntry[] = []
    for (const priority of CLASSES.keys())
      if (purged.length < ENDED)
        purged.push(
          ...(await this.#removals.removeWithin(
            priority,
            subjectsWithin(priority, which),
            ENDED - purged.length,
          )),
        )
    return purged
  }

  pause(project = ALL): Promise<void> {
    return this.#state.changePauses((paused) => ({ [project]: this.#now(), ...paused }))
  }

  resume(project = ALL): Promise<void> {
    return this.#state.changePauses(({ [project]: _, ...others }) => others)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#consumers.close()
    const written = this.#messages.counts().then((counts) => this.#state.write(counts))
    await Promise.race([written.catch(() => undefined), wait(CLOSE_MS, undefined, { ref: false })])
    await this.#connection.drain()
  }
}
