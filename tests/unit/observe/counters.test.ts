/** Counter table. */

import { beforeEach, describe, expect, it } from 'vitest'
import { OUTCOMES, type Receipt } from '../../../contract/admin-api.ts'
import { parseDsn } from '../../../contract/dsn.ts'
import { Counters } from '../../../tunnel/src/observe/counters.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'

const PROJECT = 'o1.sentry.example/1'

const RECEIPT: Receipt = {
  ...{ id: 'r-1', time: 0, project: PROJECT, bytes: 700, outcome: 'delivered', status: 200, replica: 'r' },
  ...{ items: [{ type: 'event', bytes: 600 }], duration_ms: 30, upstream_status: 200 },
  upstream_duration_ms: 20,
}

describe('Counters', () => {
  let now: number
  let counters: Counters
  const count = (parts: Partial<Receipt> = {}) => counters.count({ ...RECEIPT, ...parts })

  beforeEach(() => {
    now = 0
    const dsn = parseDsn(`https://abc@${PROJECT}`)
    counters = new Counters(createProjects(dsn ? [dsn] : []), () => now)
  })

  it('returns figures by outcome and reason, with cumulative durations', () => {
    count()
    count({ outcome: 'declined', duration_ms: 3_000, upstream_duration_ms: 2_900 })
    count({ outcome: 'rejected', reason: 'spool-full', upstream_status: 0 })
    count({ items: [{ type: 'event', bytes: 1, discard_reason: 'storm', count: 3 }] })
    counters.countFinalOutcome({ final_outcome: 'evicted', project: PROJECT })
    counters.countReach('blocked', PROJECT)
    const figures = counters.figures()
    expect(figures).toMatchObject({
      received: 4,
      outcomes: { delivered: 2, declined: 1, 'rejected:spool-full': 1 },
      items: { 'event:delivered': 1, 'event:declined': 1, 'event:rejected': 1, 'event:storm': 3 },
      final_outcomes: { evicted: 1 },
      bytes: 2_800,
      durations: { 0.05: 3, 2.5: 3, 5: 4, '+Inf': 4 },
      upstreams: {
        'https://o1.sentry.example': { delivered: 2, durations: { 0.01: 0, 0.025: 2, 5: 3, '+Inf': 3 } },
      },
      reach: { blocked: 1 },
    })
  })

  it('counts the envelopes from browsers that were neither rejected nor aborted, and the errors that Sentry or the spool accepted', () => {
    const fromBrowser = { origin: 'https://shop.example' }
    for (const outcome of OUTCOMES) count({ ...fromBrowser, outcome })
    count({ ...fromBrowser, items: [{ type: 'transaction', bytes: 600 }] })
    count() // of a server
    expect(counters.figures()).toMatchObject({ browser_errors: 2, browser_envelopes: OUTCOMES.length - 1 })
  })

  it('returns the first and the last time of each outcome other than delivered and spooled, by stage and reason', () => {
    count()
    for (now of [1, 2, 3]) count({ outcome: 'rejected', reason: 'dsn-unknown', project: `p/${now}` })
    count({ outcome: 'rate_limited' })
    count({ outcome: 'spooled' })
    for (now of [4, 5]) counters.countFinalOutcome({ final_outcome: 'expired', project: PROJECT })
    counters.countFinalOutcome({ final_outcome: 'delivered', project: PROJECT })
    counters.finalOutcomes.at('purged', PROJECT)
    expect(counters.times()).toEqual([
      { stage: 'answered', outcome: 'rejected', reason: 'dsn-unknown', first: 1, last: 3 },
      { stage: 'answered', outcome: 'rate_limited', reason: '', first: 3, last: 3 },
      { stage: 'waited', outcome: 'expired', reason: '', first: 4, last: 5 },
    ])
  })
})
