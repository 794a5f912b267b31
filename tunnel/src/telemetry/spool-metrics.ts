/** What Prometheus is told of the spool. Every replica tells of the same one: take the maximum by `spool_id`. */

import { Counter, Gauge, type Registry } from 'prom-client'
import type { SpoolLane, SpoolStatus } from '../contract.ts'
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

  one('envelopes', 'Envelopes that wait.', ({ envelopes }) => envelopes)
  one('bytes', 'Bytes that wait.', ({ bytes }) => bytes)
  one('bound_bytes', 'The most bytes that may wait.', ({ boundBytes }) => boundBytes)
  one('oldest_seconds', 'Age of the oldest envelope that waits.', ({ envelopes, oldest }) =>
    envelopes === undefined ? undefined : ageOf(oldest),
  )
  one('bound_seconds', 'How long an envelope may wait.', ({ boundMs }) => boundMs / 1000)
  one(
    'full_seconds',
    'Until it is full at the rate of the last minutes; absent while it does not grow.',
    ({ fullInSeconds }) => fullInSeconds,
  )
  const lane = ['project', 'category']
  several(
    'project_envelopes',
    'Envelopes that wait.',
    lane,
    lanes(({ envelopes }) => envelopes, add),
  )
  several(
    'project_bytes',
    'Bytes that wait.',
    lane,
    lanes(({ bytes }) => bytes, add),
  )
  several(
    'project_oldest_seconds',
    'Age of the oldest one.',
    lane,
    lanes(({ oldest }) => ageOf(oldest), Math.max),
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
    name: 'culvert_spool_attempts_total',
    help: 'Tries to deliver what waits, by what became of them; undecided ones are tried again.',
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
  function lanes(
    read: (lane: SpoolLane) => number,
    join: (one: number, other: number) => number,
  ): (spool: SpoolStatus) => Series[] {
    return ({ byProject = [] }) => {
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
