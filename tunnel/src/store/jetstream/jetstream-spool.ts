/** Spool of several machines, on NATS JetStream. */

import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { INBOX_DSN } from 'contract/dsn'
import type { NatsAddress } from 'contract/nats-url'
import {
  type EntryFilter,
  type EntryQuery,
  type EntryRef,
  type Lease,
  type ListedEntry,
  LONGEST_DELAY_MS,
  type PageQuery,
  type ProjectDemand,
  type PutResult,
  type Spool,
  type SpoolBody,
  type SpoolBounds,
  type SpoolDescription,
  type SpoolEntry,
  type SpoolTotals,
  type StoredBody,
} from '../../pipeline/spool.ts'
import { BodyGone, UnreadableBody } from '../body-errors.ts'
import { StoreAway } from '../unreachable.ts'
import { SharedBuckets } from './buckets.ts'
import { CLASSES, type Entry, INLINE_BYTES, storedBytes, toSpoolEntry } from './codec.ts'
import { Consumers, type Held, type Retry } from './consumers.ts'
import { describeServers } from './jetstream-durability.ts'
import { Messages, pauseAfter, type Stored } from './messages.ts'
import { isAnswer, Server } from './nats-server.ts'
import { ServerClock } from './server-clock.ts'
import { ALL, State, type TimeOf } from './state.ts'
import { type End, StreamEntries } from './stream-entries.ts'
import { messageOf, type StreamSettings } from './streams.ts'
import { SummaryIndex } from './summary-index.ts'

type Settings = Omit<SpoolBounds, 'bytes'> & StreamSettings

const RETRIES = 'culvert.spool-retry'
const LOOK_MS = 500
const DURABILITY_MS = 60_000 // a server may be restarted with other settings
const NOTE_MS = 10_000
const CLOSE_MS = 500
const STALL_MS = 300
const REPLICAS_MS = 2_000
const REMOVED = 5_000 // purged, or expired of a class, in one call
const REMOVED_AT_A_TIME = 250
const COPIED_AT_A_TIME = 50
const COPY_ATTEMPTS = 10
const REMOVAL_MS = 30_000 // an operator waits for a purge

/** Rejects with `StoreAway` when no usable server answers, and with another error when its streams would lose entries. `onNotice` receives messages for the operator. */
export async function openJetStreamSpool(
  address: NatsAddress,
  bounds: Omit<Settings, 'replicas'>,
  now: () => number,
  onNotice: (notice: string) => void = () => {},
  timeOf?: TimeOf,
): Promise<Spool> {
  const settings = { ...bounds, replicas: address.replicas }
  const server = await Server.open(address, settings)
  const spool = new JetStreamSpool(server, { ...settings, address, timeOf }, now, onNotice)
  await spool.start().catch(async (error) => {
    await spool.close()
    throw new StoreAway(`SPOOL_URL: the NATS servers are not ready: ${messageOf(error)}`)
  })
  return spool
}

class JetStreamSpool implements Spool {
  readonly entries: StreamEntries
  readonly summaries: SummaryIndex | undefined
  readonly state: SharedBuckets
  readonly #server: Server
  readonly #messages: Messages
  readonly #consumers: Consumers
  readonly #state: State
  readonly #clock: ServerClock
  readonly #closing = new AbortController()
  readonly #address: NatsAddress
  readonly #onNotice: (notice: string) => void
  #noticed = ''
  #durability = 'unproven: the servers were not asked yet'
  #asking: NodeJS.Timeout | undefined

  constructor(
    server: Server,
    settings: Settings & { address: NatsAddress; timeOf: TimeOf | undefined },
    now: () => number,
    onNotice: (notice: string) => void,
  ) {
    this.#onNotice = onNotice
    this.#address = settings.address
    this.#server = server
    const clock = new ServerClock(now)
    this.#clock = clock
    this.#messages = new Messages(server, clock)
    this.#state = new State(server, this.#messages, settings, clock, settings.timeOf)
    this.#consumers = new Consumers(server, clock)
    this.state = new SharedBuckets(server.js, settings.replicas, clock.offsetMs)
    this.entries = new StreamEntries({
      ...{ ...settings, server, clock },
      maxBytes: () => this.#state.maxBytes,
      put: (entry, body) => this.put(entry, body, 0),
      onNotice: (notice) => this.#notice(notice),
    })
    this.summaries = settings.kept && new SummaryIndex(server.nc, this.entries)
  }

  async start(): Promise<void> {
    await Promise.all([this.totals(), this.#readDurability()])
    this.#asking = setInterval(() => void this.#readDurability(), DURABILITY_MS).unref()
    this.#server.nc.subscribe(RETRIES, {
      callback: (error, message) => {
        if (!error) message.respond(JSON.stringify(this.#consumers.retry(message.json<Retry>())))
      },
    })
  }

  get id(): string {
    return this.#state.id
  }

  async describe(): Promise<SpoolDescription> {
    return { maxBytes: this.#state.maxBytes, durability: this.#durability }
  }

  async put(entry: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    this.#assertNoFailure()
    const reason = this.#state.shareReached(entry)
    if (reason) return { kind: 'full', reason }
    const until = this.#clock.now() + leaseMs
    const mark = randomUUID()
    const due = leaseMs > 0 && { due: this.#clock.serverNow() + leaseMs }
    const stored: Entry = { ...entry, mark, ...due }
    this.#state.add(entry)
    const result = await this.#messages.put(stored, body).catch((error) => {
      this.#state.remove(entry)
      throw error
    })
    if (typeof result !== 'number') this.#state.remove(entry)
    if (result === 'known') return { kind: 'known' }
    if (result === 'full') return { kind: 'full', reason: 'bound' }
    const file = storedBytes(entry) > INLINE_BYTES && { file: mark }
    return { kind: 'stored', lease: { ...entry, ...file, id: result, attempts: 0, until }, evicted: [] }
  }

  async probe(): Promise<void> {
    this.#assertNoFailure()
    await this.#state.probe()
  }

  async take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Promise<Lease[]> {
    this.#closing.signal.throwIfAborted()
    if (this.#server.failure) return [] // what is delivered could not be settled
    await this.#messages.reconcile().catch(() => undefined) // a later call tries again
    await this.#state.look(LOOK_MS)
    const taken: Held[] = []
    for (const partition of this.#state.inTurn(wanted)) {
      if (taken.length >= limit) break
      taken.push(...(await this.#consumers.take(partition, limit - taken.length, leaseMs)))
    }
    return taken.map(({ entry, id, attempts, until }) => ({
      ...toSpoolEntry(entry),
      ...{ id, attempts, until: this.#clock.toLocal(until) },
    }))
  }

  async read(entry: SpoolEntry & EntryRef): Promise<StoredBody> {
    const stored = await this.#find(entry)
    if (!stored) throw new BodyGone()
    return this.#messages.readBody(stored)
  }

  async extend(lease: Lease, leaseMs: number): Promise<Lease> {
    this.#consumers.extend(lease.id, this.#clock.serverNow() + leaseMs)
    return { ...lease, until: this.#clock.now() + leaseMs }
  }

  /** Keeps its lease and tries until the server has deleted it, since what is not deleted is delivered again. */
  finish(lease: Lease, ending?: End): Promise<boolean> {
    this.#consumers.extend(lease.id, Infinity)
    return this.#end(lease, lease, ending, this.#closing.signal)
  }

  /** Notifies all replicas when the lease is that of a put, since any of them may have fetched the message. */
  async postpone({ id, key }: Lease, at: number): Promise<void> {
    const due = this.#clock.serverNow() + Math.min(at - this.#clock.now(), LONGEST_DELAY_MS)
    if (await this.#consumers.postpone(id, due)) return
    const retry: Retry = { which: { entry: { id, key } }, due, isPutOver: true }
    this.#consumers.retry(retry)
    this.#server.nc.publish(RETRIES, JSON.stringify(retry))
  }

  expire(before: number): Promise<SpoolEntry[]> {
    return this.#removeMany({}, before, { state: 'expired' })
  }

  async totals(): Promise<SpoolTotals> {
    await this.#state.look(0)
    const { failure } = this.#server
    if (!failure) await this.#countLost(NOTE_MS)
    return { ...(await this.#state.totals()), ...(failure && { problem: failure.message }) }
  }

  async list(query: PageQuery | EntryQuery): Promise<ListedEntry[]> {
    if ('entry' in query) {
      const { id, key } = query.entry
      const stored = await this.#messages.get(id)
      return stored?.entry.key === key ? [this.#consumers.describe(stored.entry, id, id)] : []
    }
    const found = await Promise.all(CLASSES.map((_, priority) => this.#messages.list(priority, query)))
    const sign = query.order === 'oldest' ? 1 : -1
    return found
      .flat()
      .sort((a, b) => sign * (a.place - b.place))
      .slice(0, query.limit)
      .map(({ entry, id, place }) => this.#consumers.describe(entry, id, place))
  }

  /** Each replica makes the entries due that it has postponed itself. */
  async retry(which: EntryFilter): Promise<number> {
    let retried = this.#consumers.retry({ which })
    const options = { strategy: 'stall', stall: STALL_MS, maxWait: REPLICAS_MS } as const
    const { nc } = this.#server
    for await (const answer of await nc.requestMany(RETRIES, JSON.stringify({ which }), options)) {
      if (answer.data.length > 0) retried += answer.json<number>()
    }
    return retried
  }

  async purge(which: EntryFilter): Promise<SpoolEntry[]> {
    if (which.entry) {
      const { id, key } = which.entry
      const stored = await this.#messages.get(id)
      const isOurs = stored?.entry.key === key && (await this.#remove(id, stored.entry, this.#timeLimit()))
      return stored && isOurs ? [toSpoolEntry(stored.entry)] : []
    }
    return this.#removeMany(which)
  }

  pause(project = ALL): Promise<void> {
    return this.#state.changePauses((paused) => ({ [project]: this.#clock.now(), ...paused }))
  }

  resume(project = ALL): Promise<void> {
    return this.#state.changePauses(({ [project]: _, ...others }) => others)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#asking)
    this.#consumers.close()
    const noted = this.#state.look(0).then(() => this.#countLost(0))
    await Promise.race([noted.catch(() => undefined), wait(CLOSE_MS, undefined, { ref: false })])
    await this.#server.close()
  }

  async #readDurability(): Promise<void> {
    this.#durability = await describeServers(this.#address)
  }

  #assertNoFailure(): void {
    if (this.#server.failure) throw this.#server.failure
  }

  /** Returns `false` when another replica ended it. The object of an entry goes after its message. */
  async #remove(id: number, entry: SpoolEntry, signal: AbortSignal): Promise<boolean> {
    const isOurs = await this.#messages.remove(id, signal)
    this.#consumers.forget(id)
    if (!isOurs) return false
    this.#state.remove(entry)
    this.#messages.removeObject(entry)
    return true
  }

  /** Ends an entry. If it has an ending, it was copied to those that are not pending: it is deleted last, so that no crash loses it. */
  async #end(
    ref: EntryRef,
    entry: SpoolEntry,
    ending: End | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (ending && !(await this.#copy(ref, entry.project, ending, signal))) return false
    return this.#remove(ref.id, entry, signal)
  }

  /**
   * Returns `false` when the entry is gone. A copy that the server refuses is given up, unless only the inbox would have the envelope. Of an
   * entry whose body was cut or is lost, only the line is copied.
   */
  async #copy(ref: EntryRef, project: string, ending: End, signal: AbortSignal): Promise<boolean> {
    for (let attempts = 1, isUnreadable = false; ; attempts++)
      try {
        const stored = await (isUnreadable ? this.#messages.get(ref.id) : this.#find(ref)) // a leased one may be gone from the server
        if (stored?.entry.key !== ref.key) {
          this.#consumers.forget(ref.id)
          return false
        }
        const chunks = () => {
          const body = this.#messages.readBody(stored)
          return Buffer.isBuffer(body) ? [body] : body.open()
        }
        await this.entries.end(stored.entry, isUnreadable ? undefined : { chunks }, ending)
        return true
      } catch (error) {
        const isRefused = isAnswer(error) || attempts >= COPY_ATTEMPTS
        if (isRefused && !this.#server.failure) {
          if (ending.state === 'kept' && project === INBOX_DSN) throw error
          this.#notice(`an entry does not stay after its delivery: ${messageOf(error)}`)
          return true
        }
        if (error instanceof UnreadableBody) isUnreadable = true
        else await pauseAfter(error, signal)
      }
  }

  /** Sends a notice to the operator, once. */
  #notice(notice: string): void {
    if (notice !== this.#noticed) this.#onNotice(notice)
    this.#noticed = notice
  }

  /** Finds an entry with its body, if that is small. One that this replica has leased is in memory. */
  async #find({ id, key }: EntryRef): Promise<Stored | undefined> {
    const held = this.#consumers.held(id)
    const stored = held ? { entry: held.entry, data: held.message.data } : await this.#messages.get(id)
    return stored?.entry.key === key ? stored : undefined
  }

  /**
   * Ends the first entries that became pending before a time, and returns those that no other replica ended. After a failure it returns
   * those before it: each has its final outcome only now.
   */
  async #removeMany(which: EntryFilter, before = Infinity, ending?: End): Promise<SpoolEntry[]> {
    const removed: SpoolEntry[] = []
    const atATime = ending ? COPIED_AT_A_TIME : REMOVED_AT_A_TIME
    try {
      for (const priority of CLASSES.keys()) {
        const signal = this.#timeLimit()
        const found = await this.#messages.oldest(priority, which, before, REMOVED - removed.length)
        while (found.length > 0) {
          const some = found.splice(0, atATime)
          const ended = some.map(({ id, entry }) => this.#end({ id, key: entry.key }, entry, ending, signal))
          const results = await Promise.allSettled(ended)
          const isOurs = results.map((each) => each.status === 'fulfilled' && each.value)
          removed.push(...some.filter((_, i) => isOurs[i]).map(({ entry }) => toSpoolEntry(entry)))
          const failed = results.find((each) => each.status === 'rejected')
          if (failed) throw failed.reason
        }
      }
    } catch (error) {
      if (removed.length === 0) throw error
    }
    return removed
  }

  #countLost(ageMs: number): Promise<void> {
    return this.#state.countLost(ageMs).catch(() => undefined) // a later call counts it
  }

  #timeLimit(): AbortSignal {
    return AbortSignal.any([this.#closing.signal, AbortSignal.timeout(REMOVAL_MS)])
  }
}
