/** Size and totals of the summary that an open console receives every two seconds. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { summarise } from '../../../../../web/features/console/monitor/snapshot.ts'
import { OTHERS } from '../../../../../web/features/console/monitor/upstream-groups.ts'
import { figuresOf, pointAt } from '../../../../support/web/figures.ts'

const KINDS = ['error', 'transaction', 'session']
const DURATIONS = Object.fromEntries(
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1, '+Inf'].map((at) => [at, 9]),
)
const MOST_BYTES = 20_000

/** Builds three replicas with `count` projects each, every project with rate limits and an own Sentry with an open breaker. */
async function snapshotOf(projects: number) {
  const names = Array.from({ length: projects }, (_, n) => `o${n}.ingest.sentry.example/${n}`)
  const partitions = names.flatMap((project) => KINDS.map((category) => ({ project, category })))
  const minutes = [1, 9, 10].map((minute) =>
    pointAt(minute, {
      ...{
        received: 10_000,
        outcomes: { delivered: 9_000, 'rejected:spool-full': 1_000 },
        durations: DURATIONS,
      },
      upstreams: Object.fromEntries(
        names.map((name) => [`https://${name.split('/')[0]}`, { delivered: 3, durations: DURATIONS }]),
      ),
    }),
  )
  const figures = figuresOf(minutes, { replicas: [{ name: 'http://a', envelopes: 7, last: 1 }] })
  const statusOf = (replica: string): ReplicaStatus => ({
    ...{ version: '0.0.0', replica, since: 0, projects: names, in_flight: 0, addresses: 0 },
    warnings: [],
    actions: [],
    settings: {},
    dsns: names.map((name) => `https://key@${name}`),
    limits: partitions.map((partition, n) => ({ ...partition, until: partitions.length - n })),
    upstreams: names.map((name) => ({
      origin: `https://${name.split('/')[0]}`,
      has_responded: true,
      refusals: [],
      breaker: { open: true, since: 1, next_probe: 2 },
      last_error: { class: 'dns', code: 'ENOTFOUND', first: 1, last: 3, count: 4 },
    })),
    spool: {
      ...{ id: 'shared', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: 1 },
      ...{ envelopes: partitions.length, bytes: 1 },
      partitions: partitions.map((partition) => ({ ...partition, envelopes: 1, bytes: 1 })),
      attempts: names.map((project) => ({ project, result: 'undecided', attempts: 1 })),
      paused: names.map((project) => ({ project, since: 0 })),
    },
  })
  let time = 0
  const monitor = new Monitor({
    origins: async () => ['http://a', 'http://b', 'http://c'],
    ask: async (origin) => statusOf(origin),
    askFigures: async () => figures,
    now: () => (time += 2_000),
  })
  await monitor.refresh()
  return { ...(await monitor.refresh()), figures }
}

async function summaryOf(projects: number) {
  const { figures, ...snapshot } = await snapshotOf(projects)
  return summarise(snapshot, { figures })
}

describe('summarise', () => {
  let many: Awaited<ReturnType<typeof summaryOf>>

  beforeAll(async () => {
    many = await summaryOf(1_000)
  })

  it('stays below 20,000 characters with a thousand projects', () => {
    expect(JSON.stringify(many).length).toBeLessThan(MOST_BYTES)
  })

  it('returns the first 20 of each list and its length', () => {
    const { limits, openBreakers, spool, upstreams, flow } = many
    expect([limits.total, openBreakers.total, spool?.paused.total]).toEqual([3_000, 1_000, 1_000])
    expect(limits.shown.map(({ until }) => until)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(openBreakers.shown[0]).toEqual({
      ...{ origin: 'https://o0.ingest.sentry.example', by: 3, of: 3, since: 1, nextProbe: 2 },
      error: { class: 'dns', code: 'ENOTFOUND', first: 1, last: 3, count: 12 },
    })
    expect(upstreams.map(({ name, hosts, limited, open }) => [name, hosts, limited, open.total])).toEqual([
      ['o0.ingest.sentry.example', 1, 3, 1],
      ['o1.ingest.sentry.example', 1, 3, 1],
      ['o2.ingest.sentry.example', 1, 3, 1],
      [OTHERS, 997, 997 * 3, 997],
    ])
    const delivered = Object.values(flow?.total.upstreams ?? {}).map((upstream) => upstream.delivered)
    expect(delivered).toEqual([9, 9, 9, 997 * 9])
  })

  it('returns the envelopes of each replica, those of the last minutes, and those of the week', () => {
    expect(many.replicas.map(({ envelopes }) => envelopes)).toEqual([7, 0, 0])
    expect(many.flow?.now).toMatchObject({ counts: { received: 20_000 }, seconds: 90 })
    expect(many.week).toMatchObject({ received: 30_000 })
  })

  it('returns four servers separately', async () => {
    const { upstreams } = await summaryOf(4)
    expect(upstreams.map(({ hosts }) => hosts)).toEqual([1, 1, 1, 1])
  })

  it('returns the warnings of replicas that run, and none of one that has stopped', async () => {
    const snapshot = await snapshotOf(1)
    const replicas = (['responding', 'stopped'] as const).map((state) => ({
      ...snapshot.replicas[0],
      state,
      status: { ...snapshot.replicas[0]?.status, warnings: ['The key is wrong.'] },
    }))
    const { replicas: found } = summarise({ ...snapshot, replicas } as typeof snapshot, {})
    expect(found.map(({ warnings }) => warnings)).toEqual([['The key is wrong.'], []])
  })

  it('returns the error of each server, counted over all replicas', async () => {
    const { upstreams } = await summaryOf(5)
    const [first] = upstreams
    expect(first?.error).toEqual({ class: 'dns', code: 'ENOTFOUND', first: 1, last: 3, count: 12 })
    expect(upstreams.at(-1)).not.toHaveProperty('error')
  })
})
