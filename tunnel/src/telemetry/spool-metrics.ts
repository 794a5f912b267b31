/** What Prometheus is told of the spool. Every replica tells of the same one: take the maximum by `spool_id`. */

import { Counter, Gauge, type Registry } from 'prom-client'
import type { SpoolPartition, SpoolStatus } from '../contract.ts'
import { CATEGORY_NAMES } from '../envelope/items.ts'
import type { Projects } from '../projects.ts'

export type SpoolMetrics = {
  /** The spool is asked once for all figures; from here on, anew. */
  lookAgain(): void
}

type Series = { labels: Record<string, string>; value: number }

/** Labels are of closed sets: configured projects and Sentry's categories, whatever lies in the spool. */
export function createSpoolMetrics(
  registry: Registry,
  ask: () => Promise<SpoolStatus>,
  { projects, now }: { projects: Projects; now: () => number },
): SpoolMetrics {
  const registers = [registry]
  const names = new Set(projects.all.map(({ name }) => name))
  let look: Promise<SpoolStatus> | undefined

  one('envelopes', 'Pending envelopes.', ({ envelopes }) => envelopes)
  one('bytes', 'Bytes of pending envelopes.', ({ bytes }) => bytes)
  one('max_bytes', 'Limit of the bytes of pending envelopes.', ({ max_bytes: boundBytes }) => boundBytes)
  one('oldest_entry_age_seconds', 'Age of the oldest pending envelope.', ({ envelopes, oldest }) =>
    envelopes === undefined ? undefined : ageOf(oldest),
  )
  one(
    'max_age_seconds',
    'Age at which a pending envelope expires.',
    ({ max_age_ms: boundMs }) => boundMs / 1000,
  )
  one(
    'full_in_seconds',
    'Until it is full at the rate of the last minutes; absent while it does not grow.',
    ({ full_in_seconds: fullInSeconds }) => fullInSeconds,
  )
  const partition = ['project', 'category']
  several(
    'project_envelopes',
    'Pending envelopes.',
    partition,
    partitions(({ envelopes }) => envelopes, add),
  )
  several(
    'project_bytes',
    'Bytes of pending envelopes.',
    partition,
    partitions(({ bytes }) => bytes, add),
  )
  several(
    'project_oldest_entry_age_seconds',
    'Age of the oldest one.',
    partition,
    partitions(({ oldest }) => ageOf(oldest), Math.max),
  )
  several('paused', '1 while nothing of a project is delivered from the spool.', ['project'], pauses)
  new Gauge({
    name: 'culvert_spool_writable',
    help: '1 while the spool takes what is put into it.',
    registers,
    async collect() {
      this.set(Number((await status()).writable))
    },
  })
  new Counter({
    name: 'culvert_spool_delivery_attempts_total',
    help: 'Delivery attempts from the spool, by result; undecided ones are retried.',
    labelNames: ['result', 'project'] as const,
    registers,
    async collect() {
      this.reset()
      for (const { result, project, attempts } of (await status()).attempts)
        this.inc({ result, project }, attempts)
    },
  })
  return {
    lookAgain() {
      look = undefined
    },
  }

  function status(): Promise<SpoolStatus> {
    look ??= ask()
    return look
  }

  function one(name: string, help: string, read: (spool: SpoolStatus) => number | undefined): void {
    several(name, help, [], (spool) => {
      const value = read(spool)
      return value === undefined ? [] : [{ labels: {}, value }]
    })
  }

  function several(
    name: string,
    help: string,
    labels: string[],
    read: (spool: SpoolStatus) => Series[],
  ): void {
    new Gauge({
      name: `culvert_spool_${name}`,
      help,
      labelNames: ['spool_id', ...labels],
      registers,
      async collect() {
        const spool = await status()
        this.reset()
        for (const series of read(spool)) this.set({ spool_id: spool.id, ...series.labels }, series.value)
      },
    })
  }

  /** Projects that are configured no more are `unknown` together. */
  function partitions(
    read: (partition: SpoolPartition) => number,
    join: (one: number, other: number) => number,
  ): (spool: SpoolStatus) => Series[] {
    return ({ partitions: byProject = [] }) => {
      const byLabels = new Map<string, Series>()
      for (const each of byProject) {
        const project = names.has(each.project) ? each.project : 'unknown'
        const category = isCategory(each.category) ? each.category : 'unknown'
        const name = `${project} ${category}`
        const value = join(byLabels.get(name)?.value ?? 0, read(each))
        byLabels.set(name, { labels: { project, category }, value })
      }
      return [...byLabels.values()]
    }
  }

  function pauses({ paused }: SpoolStatus): Series[] {
    if (!paused) return []
    return [...names].map((project) => ({
      labels: { project },
      value: Number(paused.some((pause) => pause.project === undefined || pause.project === project)),
    }))
  }

  function ageOf(oldest: number | undefined): number {
    return oldest === undefined ? 0 : (now() - oldest) / 1000
  }
}

function isCategory(category: string): boolean {
  return category === 'none' || CATEGORY_NAMES.has(category)
}

function add(one: number, other: number): number {
  return one + other
}
