/** State of the spool: entries of each project and category, pauses, shares and losses. */

import type { StreamInfo } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { networksAround } from 'contract/networks'
import { BoundedMap } from '../../pipeline/bounded-map.ts'
import { shareOf } from '../../pipeline/projects.ts'
import type {
  Pause,
  ProjectDemand,
  PutResult,
  SpoolBounds,
  SpoolEntry,
  SpoolTotals,
} from '../../pipeline/spool.ts'
import { networkShares } from '../bounds.ts'
import { selectWanted, Turns } from '../turns.ts'
import { openBucket, putRevision, unlessDeleted } from './buckets.ts'
import { CLASSES, classOf, NAME, type Partition, parseSubject, storedBytes, subjectOf } from './codec.ts'
import type { Messages } from './messages.ts'
import type { Server } from './nats-server.ts'
import type { ServerClock } from './server-clock.ts'
import { BACKSTOP_MS } from './streams.ts'

/** Time of each pause by project, in milliseconds since 1970. */
type Paused = Record<string, number>

/** Reads the server's time from its response, in milliseconds since 1970. */
export type TimeOf = (info: StreamInfo) => number

/** Entries of one class, and the time at which its stream was created. */
type Seen = { created: number; entries: number }

type Reason = Extract<PutResult, { kind: 'full' }>['reason']

/** Name of the pause of everything. */
export const ALL = ''

const PAUSED = 'paused'
const SEEN = 'entries'
const PROBE = 'probe'
const MAX_NETWORKS = 10_000

export class State {
  readonly #clock: ServerClock
  readonly #timeOf: TimeOf
  readonly #server: Server
  readonly #messages: Messages
  readonly #turns = new Turns()
  readonly #shares: Omit<SpoolBounds, 'bytes'>
  /** Bytes by network that this replica has put and not removed. */
  readonly #networks = new BoundedMap<string, number>(MAX_NETWORKS)
  /** Bytes by class and project that this replica has put since the last look. */
  readonly #added = new Map<string, number>()
  #partitions = new Map<string, Partition & { envelopes: number }>()
  #infos: StreamInfo[] = []
  #paused: Paused = {}
  #lookedAt = -Infinity
  #seen: Seen[] = []
  #notedAt = -Infinity
  #lost = 0

  constructor(
    server: Server,
    messages: Messages,
    shares: Omit<SpoolBounds, 'bytes'>,
    clock: ServerClock,
    timeOf: TimeOf = readTime,
  ) {
    this.#clock = clock
    this.#timeOf = timeOf
    this.#server = server
    this.#messages = messages
    this.#shares = shares
  }

  get id(): string {
    return `${NAME}-${this.#infos[0]?.created}`
  }

  get maxBytes(): number {
    const bounds = this.#infos.map(({ config }, i) => config.max_bytes / (CLASSES[i]?.share ?? 1))
    return Math.round(sumOf(bounds) / CLASSES.length)
  }

  /** Asks the server, unless the last answer is younger than `ageMs`. */
  async look(ageMs: number): Promise<void> {
    if (performance.now() - this.#lookedAt < ageMs) return
    const asked = CLASSES.map(({ stream }, priority) =>
      this.#server.insist(priority, () => this.#server.jsm.streams.info(stream, { subjects_filter: '>' })),
    )
    const [paused, ...infos] = await Promise.all([this.#onBucket((bucket) => bucket.get(PAUSED)), ...asked])
    this.#lookedAt = performance.now()
    const times = infos.map(this.#timeOf).filter(Number.isFinite)
    if (times.length > 0) this.#clock.learn(Math.max(...times))
    this.#paused = unlessDeleted(paused)?.json<Paused>() ?? {}
    this.#infos = infos
    const subjects = infos.flatMap(({ state }) => Object.entries(state.subjects ?? {}))
    this.#partitions = new Map(
      subjects.map(([subject, envelopes]) => [subject, { ...parseSubject(subject), envelopes }]),
    )
    this.#added.clear()
    if (subjects.length === 0) this.#networks.clear() // other replicas settle entries, too
  }

  /** Returns the totals of the last look. The bytes of a partition are its part of its class. */
  async totals(): Promise<SpoolTotals> {
    const { streams } = this.#server.jsm
    const objects = await Promise.all(CLASSES.map(({ stream }) => streams.info(`OBJ_${stream}`)))
    const bytes = this.#infos.map(({ state }, i) => state.bytes + (objects[i]?.state.bytes ?? 0))
    const counts = this.#infos.map(({ state }) => state.messages)
    const counted = Array.from(this.#partitions.values(), async (partition) => {
      const { priority, project, category, envelopes } = partition
      const oldest = await this.#messages.since(priority, subjectOf(partition))
      const mean = (bytes[priority] ?? 0) / Math.max(1, counts[priority] ?? 0)
      const its = { project, category, envelopes, bytes: Math.round(mean * envelopes) }
      return { ...its, ...(oldest !== undefined && { oldest }) }
    })
    const partitions = await Promise.all(counted)
    const ages = partitions.flatMap(({ oldest }) => oldest ?? [])
    return {
      envelopes: sumOf(counts),
      bytes: partitions.length > 0 ? sumOf(bytes) : 0,
      ...(ages.length > 0 && { oldest: Math.min(...ages) }),
      partitions,
      paused: this.#pauses(),
      ...(this.#lost > 0 && { lost: this.#lost }),
    }
  }

  /** Returns the partitions that are wanted and not paused, the most important first. */
  inTurn(wanted: readonly ProjectDemand[]): Partition[] {
    return this.#turns.order(selectWanted([...this.#partitions.values()], wanted, this.#pauses()))
  }

  #pauses(): Pause[] {
    return Object.entries(this.#paused).map(([project, since]) => ({
      ...(project !== ALL && { project }),
      since,
    }))
  }

  /** Returns the reason why an entry may not be put. Shares are those of its class; a network's is that of this replica's own puts. */
  shareReached(entry: SpoolEntry): Reason | undefined {
    const { priority, project, network } = entry
    const { addressShare, projectShare } = this.#shares
    const { share: ofMessages, objectShare } = classOf(entry)
    const { config, state } = this.#infos[priority] ?? {}
    const bound = ((config?.max_bytes ?? 0) * (ofMessages + objectShare)) / ofMessages
    const bytes = storedBytes(entry)
    if (bytes > bound) return 'bound'
    for (const { name, share } of networkShares(network, addressShare))
      if ((this.#networks.get(name) ?? 0) + bytes > bound * share) return 'address-share'
    if (projectShare === 1) return undefined
    const its = [...this.#partitions.values()].filter(
      (each) => each.priority === priority && shareOf(each.project) === shareOf(project),
    )
    const mean = (state?.bytes ?? 0) / Math.max(1, state?.messages ?? 0)
    const stored = sumOf(its.map(({ envelopes }) => envelopes)) * mean
    const added = this.#added.get(`${priority} ${shareOf(project)}`) ?? 0
    return stored + added + bytes > bound * projectShare ? 'project-share' : undefined
  }

  /** Before it is put, so that simultaneous puts are seen. */
  add(entry: SpoolEntry): void {
    const name = `${entry.priority} ${shareOf(entry.project)}`
    this.#added.set(name, (this.#added.get(name) ?? 0) + storedBytes(entry))
    this.#growNetwork(entry.network, storedBytes(entry))
    const subject = subjectOf(entry)
    if (!this.#partitions.has(subject)) this.#partitions.set(subject, { ...entry, envelopes: 0 })
  }

  remove(entry: SpoolEntry): void {
    this.#growNetwork(entry.network, -storedBytes(entry))
  }

  async changePauses(change: (paused: Paused) => Paused): Promise<void> {
    await this.#onBucket(async (bucket) => {
      for (;;) {
        const entry = await bucket.get(PAUSED) // another replica may change it at the same moment
        const changed = JSON.stringify(change(unlessDeleted(entry)?.json<Paused>() ?? {}))
        if (await putRevision(bucket, PAUSED, changed, entry?.revision ?? 0)) return
      }
    })
    this.#lookedAt = -Infinity
  }

  /** Writes a value, to learn if the bucket accepts one. */
  async probe(): Promise<void> {
    await this.#onBucket((bucket) => bucket.put(PROBE, ''))
  }

  /**
   * Compares the entries of each class with those that replicas noted, unless this one did so in the last `ageMs`. Lost are those of a stream
   * that was created again. After an absence in which `max_age` may have passed, those that are missing are lost, too; after a shorter one
   * they were settled. The replica that notes a loss first counts it.
   */
  async countLost(ageMs: number): Promise<void> {
    const before = this.#seen
    this.#seen = this.#infos.map(({ created, state }) => ({
      created: Date.parse(created),
      entries: state.messages,
    }))
    const isSame = this.#seen.every(({ created }, i) => created === before[i]?.created)
    if (isSame && performance.now() - this.#notedAt < ageMs) return
    this.#notedAt = performance.now()
    await this.#onBucket(async (bucket) => {
      const entry = await bucket.get(SEEN)
      const noted = entry?.json<Seen[]>() ?? []
      const isLong = entry !== null && entry.created.getTime() < this.#clock.serverNow() - BACKSTOP_MS
      const lost = this.#seen.map(({ created, entries }, i) => {
        const most = noted[i]?.entries ?? 0
        if (created !== noted[i]?.created) return Math.max(most, before[i]?.entries ?? 0)
        return isLong ? Math.max(0, most - entries) : 0
      })
      await bucket.put(SEEN, JSON.stringify(this.#seen), { previousSeq: entry?.revision ?? 0 })
      this.#lost += sumOf(lost)
    })
  }

  #growNetwork(network: string, bytes: number): void {
    for (const { name } of networksAround(network)) {
      const sum = (this.#networks.get(name) ?? 0) + bytes
      if (sum > 0) this.#networks.set(name, sum)
      else this.#networks.delete(name)
    }
  }

  #onBucket<T>(ask: (bucket: KV) => Promise<T>): Promise<T> {
    return this.#server.insist(0, async () => ask(await openBucket(this.#server.js)))
  }
}

function readTime({ ts = '' }: StreamInfo): number {
  return Date.parse(ts)
}

function sumOf(all: readonly number[]): number {
  return all.reduce((sum, each) => sum + each, 0)
}
