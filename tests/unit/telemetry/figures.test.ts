/** Counters that the console reads as JSON. */

import { describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { parseDsn } from '../../../contract/dsn.ts'
import { createProjects } from '../../../tunnel/src/projects.ts'
import { Metrics } from '../../../tunnel/src/telemetry/metrics.ts'

const PROJECT = 'o1.sentry.example/1'

const RECEIPT: Receipt = {
  ...{ id: 'r-1', time: 0, project: PROJECT, bytes: 700, outcome: 'delivered', status: 200, replica: 'r' },
  ...{ items: [{ type: 'event', bytes: 600 }], duration_ms: 30, upstream_status: 200 },
  upstream_duration_ms: 20,
}

describe('Metrics.figures', () => {
  it('counts the errors from browsers that Sentry or the spool accepted', async () => {
    const metrics = startMetrics()
    const fromBrowser = { ...RECEIPT, origin: 'https://shop.example' }
    metrics.count(fromBrowser)
    metrics.count({ ...fromBrowser, outcome: 'spooled' })
    for (const outcome of [
      'deferred',
      'rate_limited',
      'filtered',
      'rejected',
      'declined',
      'aborted',
    ] as const)
      metrics.count({ ...fromBrowser, outcome })
    metrics.count({ ...fromBrowser, items: [{ type: 'transaction', bytes: 600 }] })
    metrics.count(RECEIPT) // of a server
    expect((await metrics.figures()).browser_errors).toEqual([{ project: PROJECT, count: 2 }])
  })

  it('returns the counters, cumulative durations by bound, and the load of the process', async () => {
    const metrics = startMetrics()
    metrics.count(RECEIPT)
    metrics.count({ ...RECEIPT, outcome: 'declined', duration_ms: 3_000, upstream_duration_ms: 2_900 })
    metrics.countFinalOutcome({
      ...{ receipt: 'r-0', final_outcome: 'expired', time: 1, waited_ms: 1, project: PROJECT },
      ...{ category: 'error', replica: 'r' },
    })
    metrics.countReach('blocked', PROJECT)
    const { process, ...figures } = await metrics.figures()
    const common = { reason: '', project: PROJECT, category: 'error', count: 1 }
    expect(figures).toEqual({
      outcomes: [
        { ...common, outcome: 'delivered' },
        { ...common, outcome: 'declined' },
      ],
      items: [
        { type: 'event', outcome: 'delivered', count: 1 },
        { type: 'event', outcome: 'declined', count: 1 },
      ],
      bytes: [
        { project: PROJECT, category: 'error', outcome: 'delivered', count: 700 },
        { project: PROJECT, category: 'error', outcome: 'declined', count: 700 },
      ],
      final_outcomes: [{ final_outcome: 'expired', project: PROJECT, count: 1 }],
      reach: [{ result: 'blocked', project: PROJECT, count: 1 }],
      browser_errors: [],
      durations: expect.objectContaining({ 0.025: 0, 0.05: 1, 2.5: 1, 5: 2, '+Inf': 2 }),
      upstream_durations: {
        'https://o1.sentry.example': expect.objectContaining({ 0.01: 0, 0.025: 1, 5: 2, '+Inf': 2 }),
      },
    })
    expect(process.resident_bytes).toBeGreaterThan(1_000_000)
    expect(process.cpu_seconds).toBeGreaterThan(0)
    expect(process.event_loop_p99_seconds).toBeGreaterThanOrEqual(0)
  })
})

function startMetrics() {
  const dsn = parseDsn(`https://abc@${PROJECT}`)
  if (!dsn) throw new Error('not a DSN')
  return new Metrics({
    ...{ inFlight: () => 0, bodyBytes: () => 0, limits: () => [], upstreams: () => [], spool: undefined },
    policies: { quotas: () => [], storms: () => [] },
    ...{ projects: createProjects([dsn]), now: () => 0, build: { version: '1.2.3', revision: 'abc' } },
  })
}
