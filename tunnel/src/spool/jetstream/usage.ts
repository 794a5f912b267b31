/** Use of the streams by each project and category: the order of delivery, totals, and the shares that bound puts. */

import type { StreamInfo } from '@nats-io/jetstream'
import type { PartitionTotals, ProjectDemand, PutResult, SpoolBounds, SpoolEntry } from '../spool.ts'
import { CLASSES, classOf, type Partition, parseSubject, storedBytes, subjectOf, sumOf } from './codec.ts'
import type { Messages } from './messages.ts'
import type { Server } from './server.ts'

type Reason = Extract<PutResult, { kind: 'full' }>['reason']

const MAX_NETWORKS = 10_000

export class Usage {
  readonly #server: Server
  readonly #messages: Messages
  readonly #shares: Omit<SpoolBounds, 'bytes'>
  /** Bytes by network that this replica has put and not removed. */
  readonly #networks = new Map<string, number>()
  /** Bytes by class and project that this replica has put since the last look. */
  readonly #added = new Map<string, number>()
  #partitions = new Map<string, Partition & { envelopes: number }>()
  #infos: StreamInfo[] = []
  #lookedAt = -Infinity
  #turns = 0

  constructor(server: Server, messages: Messages, shares: Omit<SpoolBounds, 'bytes'>) {
    this.#server = server
    this.#messages = messages
    this.#shares = shares
  }

  /** Streams of the classes at the last look. */
  get infos(): readonly StreamInfo[] {
    return this.#infos
  }

  /** Asks the server, unless the last answer is younger than `ageMs`. */
  async look(ageMs: number): Promise<void> {
    if (performance.now() - this.#lookedAt < ageMs) return
    const { jsm } = this.#server
    const ask = (stream: string) => jsm.streams.info(stream, { subjects_filter: '>' })
    this.#infos = await Promise.all(
      CLASSES.map(({ stream }, priority) => this.#server.insist(priority, () => ask(stream))),
    )
    this.#lookedAt = performance.now()
    const subjects = this.#infos.flatMap(({ state }) => Object.entries(state.subjects ?? {}))
    this.#partitions = new Map(
      subjects.map(([subject, envelopes]) => [subject, { ...parseSubject(subject), envelopes }]),
    )
    this.#added.clear()
    if (subjects.length === 0) this.#networks.clear() // other replicas settle entries, too
  }

  /** Returns the totals. The bytes of a partition are its part of its class. */
  async totals() {
    const objectBytes = CLASSES.map(async ({ stream }) => {
      return (await this.#server.jsm.streams.info(`OBJ_${stream}`)).state.bytes
    })
    const [objects] = await Promise.all([Promise.all(objectBytes), this.look(0)])
    const bytes = this.#infos.map(({ state }, i) => state.bytes + (objects[i] ?? 0))
    const counts = this.#infos.map(({ state }) => state.messages)
    const counted = Array.from(this.#partitions.values(), async (partition): Promise<PartitionTotals> => {
      const { priority, project, category, envelopes } = partition
      const first = await this.#messages.first(priority, subjectOf(partition))
      const mean = (bytes[priority] ?? 0) / Math.max(1, counts[priority] ?? 0)
      const oldest = first && { oldest: first.entry.received }
      return { project, category, envelopes, bytes: Math.round(mean * envelopes), ...oldest }
    })
    const partitions = await Promise.all(counted)
    const ages = partitions.flatMap(({ oldest }) => oldest ?? [])
    const oldest = ages.length > 0 && { oldest: Math.min(...ages) }
    return {
      ...{ envelopes: sumOf(counts), bytes: partitions.length > 0 ? sumOf(bytes) : 0 },
      ...{ ...oldest, partitions },
    }
  }

  /** Returns the partitions that are wanted, the most important first. Of equal ones another is first each time. */
  inTurn(wanted: readonly ProjectDemand[]): Partition[] {
    const limited = new Map(wanted.map((each) => [each.project, each.rateLimitedCategories]))
    const all = [...this.#partitions.values()].filter(
      ({ project, category }) => limited.get(project)?.includes(category) === false,
    )
    const start = this.#turns++ % Math.max(1, all.length)
    return [...all.slice(start), ...all.slice(0, start)].sort((a, b) => a.priority - b.priority)
  }

  /** Returns the reason why an entry may not be put. Shares are those of its class; the network's is that of this replica's own puts. */
  shareReached(entry: SpoolEntry): Reason | undefined {
    const { priority, project, network } = entry
    const { addressShare, projectShare } = this.#shares
    const { share, objectShare } = classOf(entry)
    const { config, state } = this.#infos[priority] ?? {}
    const bound = ((config?.max_bytes ?? 0) * (share + objectShare)) / share
    const bytes = storedBytes(entry)
    if (bytes > bound) return 'bound'
    if (network !== '' && (this.#networks.get(network) ?? 0) + bytes > bound * addressShare)
      return 'address-share'
    if (projectShare === 1) return undefined
    const its = [...this.#partitions.values()].filter(
      (each) => each.priority === priority && each.project === project,
    )
    const mean = (state?.bytes ?? 0) / Math.max(1, state?.messages ?? 0)
    const stored = sumOf(its.map(({ envelopes }) => envelopes)) * mean
    const added = this.#added.get(`${priority} ${project}`) ?? 0
    return stored + added + bytes > bound * projectShare ? 'project-share' : undefined
  }

  /** Before it is put, so that simultaneous puts are seen. */
  add(entry: SpoolEntry): void {
    const bytes = storedBytes(entry)
    const name = `${entry.priority} ${entry.project}`
    this.#added.set(name, (this.#added.get(name) ?? 0) + bytes)
    this.#growNetwork(entry.network, bytes)
    const subject = subjectOf(entry)
    if (!this.#partitions.has(subject)) this.#partitions.set(subject, { ...entry, envelopes: 0 })
  }

  remove(entry: SpoolEntry): void {
    this.#growNetwork(entry.network, -storedBytes(entry))
  }

  #growNetwork(network: string, bytes: number): void {
    const sum = (this.#networks.get(network) ?? 0) + bytes
    const [oldest] = this.#networks.keys()
    if (sum <= 0 || network === '') this.#networks.delete(network)
    else if (this.#networks.size < MAX_NETWORKS || this.#networks.has(network))
      this.#networks.set(network, sum)
    else if (oldest !== undefined) this.#networks.delete(oldest)
  }
}
