/** Partitions of the streams, in the order in which they are delivered, and the shares that bound puts. */

import type { ProjectDemand, PutResult, SpoolBounds, SpoolEntry, SpoolTotals } from '../spool.ts'
import { CLASSES, type Partition, storedBytes, subjectOf } from './codec.ts'
import type { Health } from './health.ts'
import type { Messages, Usage } from './messages.ts'

type Reason = Extract<PutResult, { kind: 'full' }>['reason']

const MAX_NETWORKS = 10_000

export class Partitions {
  readonly #health: Health
  readonly #messages: Messages
  readonly #shares: Omit<SpoolBounds, 'bytes'>
  /** Bytes by network that this replica has put, and how many entries these are. */
  readonly #networks = new Map<string, number>()
  #entries = 0
  /** Bytes by class and project that this replica has put since the last look. */
  readonly #added = new Map<string, number>()
  #known = new Map<string, Partition & { envelopes: number }>()
  #classes: Usage['classes'] = []
  #lookedAt = -Infinity
  #turns = 0

  constructor(health: Health, messages: Messages, shares: Omit<SpoolBounds, 'bytes'>) {
    this.#health = health
    this.#messages = messages
    this.#shares = shares
  }

  /** Asks the server, unless the last answer is younger than `ageMs`. */
  async look(ageMs: number): Promise<Usage> {
    if (performance.now() - this.#lookedAt >= ageMs) {
      const { partitions, classes } = await this.#messages.usage()
      this.#lookedAt = performance.now()
      this.#known = new Map(partitions.map((partition) => [subjectOf(partition), partition]))
      this.#classes = classes
      this.#added.clear()
      this.#shrinkNetworks(sumOf(classes.map(({ messages }) => messages)))
    }
    return { partitions: [...this.#known.values()], classes: this.#classes }
  }

  /** Returns the totals, with the number of entries of each class. The bytes of a partition are its part of its class. */
  async totals(): Promise<Omit<SpoolTotals, 'paused'> & { counts: number[] }> {
    const [{ partitions, classes }, objectBytes] = await Promise.all([
      this.look(0),
      this.#messages.objectBytes(),
    ])
    const bytes = classes.map((each, i) => each.bytes + (objectBytes[i] ?? 0))
    const counts = classes.map(({ messages }) => messages)
    const counted = partitions.map(async ({ priority, project, category, envelopes }) => {
      const first = await this.#messages.first(priority, subjectOf({ priority, project, category }))
      const mean = (bytes[priority] ?? 0) / Math.max(1, counts[priority] ?? 0)
      const oldest = first && { oldest: first.entry.received }
      return { project, category, envelopes, bytes: Math.round(mean * envelopes), ...oldest }
    })
    const all = await Promise.all(counted)
    const ages = all.flatMap(({ oldest }) => oldest ?? [])
    return {
      envelopes: sumOf(counts),
      bytes: all.length > 0 ? sumOf(bytes) : 0,
      ...(ages.length > 0 && { oldest: Math.min(...ages) }),
      ...{ partitions: all, counts },
    }
  }

  /** Returns the partitions that are wanted, the most important first. Of equal ones another is first each time. */
  inTurn(wanted: readonly ProjectDemand[]): Partition[] {
    const limited = new Map(wanted.map((each) => [each.project, each.rateLimitedCategories]))
    const all = [...this.#known.values()].filter(
      ({ project, category }) => limited.get(project)?.includes(category) === false,
    )
    const start = this.#turns++ % Math.max(1, all.length)
    return [...all.slice(start), ...all.slice(0, start)].sort((a, b) => a.priority - b.priority)
  }

  /** Returns the reason why an entry may not be put. Shares are those of its class; the network's is that of this replica's own puts. */
  shareReached(entry: SpoolEntry): Reason | undefined {
    const { priority, project, network } = entry
    const { addressShare, projectShare } = this.#shares
    const bytes = storedBytes(entry)
    const bound = this.#boundOf(entry)
    if (bytes > bound) return 'bound'
    if (network !== '' && (this.#networks.get(network) ?? 0) + bytes > bound * addressShare)
      return 'address-share'
    if (projectShare === 1) return undefined
    const its = [...this.#known.values()].filter(
      (each) => each.priority === priority && each.project === project,
    )
    const { messages, bytes: all } = this.#classes[priority] ?? { messages: 0, bytes: 0 }
    const stored = its.reduce((sum, { envelopes }) => sum + envelopes, 0) * (all / Math.max(1, messages))
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
    if (!this.#known.has(subject)) this.#known.set(subject, { ...entry, envelopes: 0 })
  }

  remove(entry: SpoolEntry): void {
    this.#growNetwork(entry.network, -storedBytes(entry))
  }

  #boundOf({ priority }: SpoolEntry): number {
    const { share = 1, objectShare = 1 } = CLASSES[priority] ?? {}
    return (this.#health.streams.classes[priority]?.maxBytes ?? 0) * ((share + objectShare) / share)
  }

  /** Other replicas settle entries, too: what is counted here is never more than what is stored. */
  #shrinkNetworks(stored: number): void {
    if (stored >= this.#entries) return
    for (const [network, bytes] of this.#networks)
      this.#networks.set(network, (bytes * stored) / this.#entries)
    this.#entries = stored
  }

  #growNetwork(network: string, bytes: number): void {
    if (network === '') return
    this.#entries = Math.max(0, this.#entries + Math.sign(bytes))
    const sum = (this.#networks.get(network) ?? 0) + bytes
    if (sum > 0) this.#networks.set(network, sum)
    else this.#networks.delete(network)
    const [oldest] = this.#networks.keys()
    if (this.#networks.size > MAX_NETWORKS && oldest !== undefined) this.#networks.delete(oldest)
  }
}

function sumOf(all: readonly number[]): number {
  return all.reduce((sum, each) => sum + each, 0)
}
