/** Record of incidents that replicas write together, from what each of them finds. */

import { describe, expect, it } from 'vitest'
import type { Problem } from '../../../../contract/situation/problems.ts'
import {
  type IncidentRecord,
  incidentToCount,
  recordObservation,
} from '../../../../tunnel/src/admin/situation/incident-record.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const START = 1_000 * MINUTE
const at = (seconds: number) => START + seconds * SECOND

function unreachable(since: number, status = 503): Problem {
  return {
    ...{ kind: 'upstream', is_total: true, servers: 1, all_servers: 1, origin: 'https://s.example' },
    ...{ replicas: 1, all_replicas: 1, has_responded: true, since },
    error: { class: 'http-5xx', status, first: since, last: since, count: 1 },
  }
}

const losses = { expired: 0, evicted: 0, unavailable: 3, vanished: 0, full_rate: 0 }
const losing: Problem = { kind: 'losing', losses }
const paused: Problem = { kind: 'paused', others: 0, since: START }

/** Replicas that observe in turn, with the record that they share. */
function startReplicas() {
  let record: IncidentRecord | undefined
  let writes = 0
  return {
    get record() {
      if (!record) throw new Error('nothing was recorded')
      return record
    },
    get writes() {
      return writes
    },
    observe(
      seconds: number,
      problems: Problem[] = [],
      counts?: { late: number; lost: number; pending: number },
    ) {
      const { since = 0 } = record?.incidents[0] ?? {}
      const next = recordObservation(record, {
        ...{ now: at(seconds), started: START, problems, counts: counts && { since, ...counts } },
      })
      if (next) writes++
      record = next ?? record
    },
    restart(seconds: number) {
      const observation = { now: at(seconds), started: at(seconds), problems: [], counts: undefined }
      record = recordObservation(record, observation) ?? record
    },
  }
}

describe('An incident', () => {
  it('begins with its first problem, and ends when no replica has found one for 12 s', () => {
    const replicas = startReplicas()
    replicas.observe(0)
    replicas.observe(60, [unreachable(at(55))])
    expect(replicas.record).toMatchObject({ state: 'outage', since: at(60) })
    replicas.observe(61) // by a replica that has read older reports
    expect(replicas.record).toMatchObject({ state: 'outage', incidents: [{ since: at(55) }] })
    expect(replicas.record.incidents[0]).not.toHaveProperty('until')
    replicas.observe(65, [unreachable(at(55))])
    replicas.observe(70)
    replicas.observe(78)
    expect(replicas.record).toMatchObject({ state: 'ok', since: at(78) })
    expect(replicas.record.incidents).toMatchObject([
      { state: 'outage', since: at(55), until: at(65), kinds: ['upstream'], detail: 'HTTP 503' },
    ])
  })

  it('has no time and no cause of the one before', () => {
    const replicas = startReplicas()
    replicas.observe(0, [unreachable(at(0))])
    replicas.observe(20)
    replicas.observe(60, [unreachable(at(-5), 500)]) // an error that a replica has kept
    expect(replicas.record.incidents).toMatchObject([
      { since: at(0), detail: 'HTTP 500' },
      { since: at(0), until: at(0), detail: 'HTTP 503' },
    ])
    expect(replicas.record.since).toBe(at(60))
  })

  it('names its problems in the order in which they began, and its worst state', () => {
    const replicas = startReplicas()
    const partial = { ...unreachable(at(0)), is_total: false } as Problem
    replicas.observe(0, [partial])
    expect(replicas.record.incidents).toMatchObject([{ state: 'degraded' }])
    replicas.observe(1, [losing, partial])
    replicas.observe(2, [partial])
    expect(replicas.record.incidents).toMatchObject([{ state: 'outage', kinds: ['upstream', 'losing'] }])
  })

  it('counts its envelopes until the spool is empty', () => {
    const replicas = startReplicas()
    replicas.observe(0, [unreachable(at(0))])
    expect(incidentToCount(replicas.record, at(0))).toMatchObject({ since: at(0) })
    replicas.observe(5, [unreachable(at(0))], { late: 0, lost: 1, pending: 9 })
    expect(incidentToCount(replicas.record, at(6))).toBeUndefined()
    replicas.observe(20, [], { late: 5, lost: 1, pending: 4 })
    replicas.observe(25, [], { late: 8, lost: 1, pending: 1 })
    expect(replicas.record.incidents).toMatchObject([{ delivered_late: 8, lost: 1, is_counting: true }])
    replicas.observe(30, [], { late: 8, lost: 1, pending: 0 }) // another replica has not written its figures yet
    replicas.observe(35, [], { late: 9, lost: 1, pending: 0 })
    expect(replicas.record.incidents).toMatchObject([{ delivered_late: 9, is_counting: true }])
    replicas.observe(41, [], { late: 9, lost: 1, pending: 0 })
    expect(replicas.record.incidents).toMatchObject([{ delivered_late: 9, lost: 1, is_counting: false }])
    expect(incidentToCount(replicas.record, at(60))).toBeUndefined()
  })

  it('is no pause, and no rate limit', () => {
    const replicas = startReplicas()
    replicas.observe(0, [paused, { kind: 'rate-limited', limits: [] }])
    expect(replicas.record).toMatchObject({ state: 'degraded', incidents: [] })
  })

  it('stays among the last 20', () => {
    const replicas = startReplicas()
    for (let n = 0; n < 30; n++) {
      replicas.observe(n * 60, [unreachable(at(n * 60))])
      replicas.observe(n * 60 + 20)
    }
    expect(replicas.record.incidents).toHaveLength(20)
    expect(replicas.record.incidents[0]).toMatchObject({ since: at(29 * 60) })
  })
})

describe('A gap', () => {
  it('is the time in which no replica ran, and ends the incident of before', () => {
    const replicas = startReplicas()
    replicas.observe(0, [unreachable(at(0))])
    replicas.observe(5, [unreachable(at(0))])
    replicas.restart(70)
    expect(replicas.record.incidents).toMatchObject([
      { state: 'outage', kinds: ['gap'], since: at(5), until: at(70), is_counting: false },
      { kinds: ['upstream'], since: at(0), until: at(5) },
    ])
    replicas.restart(71) // another replica
    replicas.observe(90)
    expect(replicas.record.incidents).toHaveLength(2)
  })

  it('is not the time of a restart, or of a deploy beside another replica', () => {
    const replicas = startReplicas()
    replicas.observe(0)
    replicas.restart(25)
    replicas.observe(60)
    replicas.restart(65)
    expect(replicas.record.incidents).toEqual([])
  })
})

describe('The record', () => {
  it('is not written more often than every 9 s while nothing happens', () => {
    const replicas = startReplicas()
    for (let second = 0; second <= 18; second++) replicas.observe(second)
    expect(replicas.writes).toBe(3)
  })
})
