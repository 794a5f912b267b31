/** Prometheus metrics of the spool. Replicas report the same spool: take the maximum by `spool_id`. */

import { CATEGORY_NAMES } from 'contract/categories'
import type { SpoolPartition, SpoolStatus } from 'contract/spool'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Projects } from '../pipeline/projects.ts'

type Series = { labels: Record<string, string>; value: number }

const PARTITION_LABELS = ['project', 'category']

/** Label values are closed sets: configured projects and Sentry's categories. Everything else is `unknown`. */
export class SpoolMetrics {
  readonly #registry: Registry
  readonly #readStatus: () => Promise<SpoolStatus>
  readonly #projects: ReadonlySet<string>
  readonly #mirrors: readonly string[]
  readonly #now: () => number
  #status: Promise<SpoolStatus> | undefined

  /** `now` is in milliseconds since 1970. */
  constructor(
    registry: Registry,
    readStatus: () => Promise<SpoolStatus>,
    projects: Projects,
    now: () => number,
  ) {
    this.#registry = registry
    this.#readStatus = readStatus
    this.#projects = new Set(projects.all.map(({ name }) => name))
    this.#mirrors = [...new Set(projects.mirrors.map(({ target }) => target.name))]
    this.#now = now
    this.#addTotals()
    this.#addPartitions()
    this.#addState()
  }

  /** Forgets the status of the last scrape. One scrape reads it once, for all metrics. */
  refresh(): void {
    this.#status = undefined
  }

  #addTotals(): void {
    this.#total('envelopes', 'Pending envelopes, without those for mirrors.', ({ envelopes }) => envelopes)
    this.#total('bytes', 'Bytes of pending envelopes, with those for mirrors.', ({ bytes }) => bytes)
    this.#total('max_bytes', 'Limit of the bytes of pending envelopes.', ({ max_bytes }) => max_bytes)
    this.#total('oldest_entry_age_seconds', 'Age of the oldest pending envelope.', (spool) =>
      spool.envelopes === undefined ? undefined : this.#ageOf(spool.oldest),
    )
    this.#total(
      'max_age_seconds',
      'Age at which a pending envelope expires.',
      ({ max_age_ms }) => max_age_ms / 1000,
    )
    this.#total(
      'disk_free_bytes',
      'Free bytes on the disk of the spool; absent when it is no file.',
      (spool) => spool.disk_free_bytes,
    )
    this.#total(
      'wal_bytes',
      'Length of the write-ahead log; absent when the spool is no file.',
      (spool) => spool.wal_bytes,
    )
    this.#total(
      'damaged_files',
      'Spool files that were set aside because they were damaged; absent when the spool is no file.',
      (spool) => spool.damaged_files?.length,
    )
    this.#total(
      'full_in_seconds',
      'Estimated seconds until the limit or the disk is full, at the rate of the last minutes. Absent while neither fills up.',
      ({ full_in_seconds }) => full_in_seconds,
    )
  }

  #addPartitions(): void {
    this.#gauge(
      'project_envelopes',
      'Pending envelopes by project and category.',
      PARTITION_LABELS,
      (spool) => this.#combine(spool, ({ envelopes }) => envelopes, add),
    )
    this.#gauge(
      'project_bytes',
      'Bytes of pending envelopes by project and category.',
      PARTITION_LABELS,
      (spool) => this.#combine(spool, ({ bytes }) => bytes, add),
    )
    this.#gauge(
      'project_oldest_entry_age_seconds',
      'Age of the oldest pending envelope by project and category.',
      PARTITION_LABELS,
      (spool) => this.#combine(spool, ({ oldest }) => this.#ageOf(oldest), Math.max),
    )
    this.#gauge('mirror_envelopes', 'Pending envelopes by mirror.', ['mirror'], (spool) =>
      this.#byMirror(spool, (all) => all.reduce((sum, { envelopes }) => sum + envelopes, 0)),
    )
    this.#gauge(
      'mirror_oldest_entry_age_seconds',
      'Age of the oldest pending envelope by mirror.',
      ['mirror'],
      (spool) => this.#byMirror(spool, (all) => Math.max(0, ...all.map(({ oldest }) => this.#ageOf(oldest)))),
    )
  }

  #addState(): void {
    const registers = [this.#registry]
    const status = () => this.#current()
    this.#gauge(
      'paused',
      '1 while an operator has paused the delivery of a project, or of all projects.',
      ['project'],
      ({ paused = [] }) =>
        Array.from(this.#projects, (project) => ({
          labels: { project },
          value: Number(paused.some((pause) => pause.project === undefined || pause.project === project)),
        })),
    )
    new Gauge({
      name: 'culvert_spool_writable',
      help: '1 while the spool accepts new entries.',
      registers,
      async collect() {
        this.set(Number((await status()).writable))
      },
    })
    new Counter({
      name: 'culvert_spool_lost_envelopes_total',
      help: 'Acknowledged envelopes that NATS lost, as far as this replica noticed.',
      registers,
      async collect() {
        const { lost = 0 } = await status()
        this.reset()
        this.inc(lost)
      },
    })
    new Counter({
      name: 'culvert_spool_delivery_attempts_total',
      help: 'Delivery attempts from the spool by result. `undecided` (no final response from Sentry) is retried.',
      labelNames: ['result', 'project'] as const,
      registers,
      async collect() {
        const { attempts } = await status()
        this.reset()
        for (const { result, project, attempts: count } of attempts) this.inc({ result, project }, count)
      },
    })
  }

  #current(): Promise<SpoolStatus> {
    this.#status ??= this.#readStatus()
    return this.#status
  }

  #total(name: string, help: string, read: (spool: SpoolStatus) => number | undefined): void {
    this.#gauge(name, help, [], (spool) => {
      const value = read(spool)
      return value === undefined ? [] : [{ labels: {}, value }]
    })
  }

  #gauge(name: string, help: string, labels: string[], read: (spool: SpoolStatus) => Series[]): void {
    const status = () => this.#current()
    new Gauge({
      name: `culvert_spool_${name}`,
      help,
      labelNames: ['spool_id', ...labels],
      registers: [this.#registry],
      async collect() {
        const spool = await status()
        this.reset()
        for (const series of read(spool)) this.set({ spool_id: spool.id, ...series.labels }, series.value)
      },
    })
  }

  /** Combines the partitions that have the same labels. */
  #combine(
    { partitions = [] }: SpoolStatus,
    read: (partition: SpoolPartition) => number,
    combine: (a: number, b: number) => number,
  ): Series[] {
    const byLabels = new Map<string, Series>()
    for (const partition of partitions) {
      const project = this.#projects.has(partition.project) ? partition.project : 'unknown'
      const category = isCategory(partition.category) ? partition.category : 'unknown'
      const name = `${project} ${category}`
      const value = combine(byLabels.get(name)?.value ?? 0, read(partition))
      byLabels.set(name, { labels: { project, category }, value })
    }
    return [...byLabels.values()]
  }

  /** Returns a series for each configured mirror. */
  #byMirror(
    { envelopes, mirrors = [] }: SpoolStatus,
    read: (partitions: readonly SpoolPartition[]) => number,
  ): Series[] {
    if (envelopes === undefined) return [] // the spool does not respond
    return this.#mirrors.map((mirror) => ({
      labels: { mirror },
      value: read(mirrors.filter(({ project }) => project === mirror)),
    }))
  }

  #ageOf(oldest: number | undefined): number {
    return oldest === undefined ? 0 : (this.#now() - oldest) / 1000
  }
}

function isCategory(category: string): boolean {
  return category === 'none' || CATEGORY_NAMES.has(category)
}

function add(a: number, b: number): number {
  return a + b
}
