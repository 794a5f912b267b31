/** Reports of replicas about themselves, and those that are missed. */

import { describe, expect, it } from 'vitest'
import type { UpstreamState } from '../../../../contract/upstream.ts'
import {
  absentOf,
  type ReplicaReport,
  ReplicaReports,
  respondingOf,
} from '../../../../tunnel/src/admin/situation/replica-reports.ts'
import { MemoryValues } from '../../../support/spool/memory-values.ts'

const SECOND = 1_000

function startStore() {
  let now = 0
  const state = new MemoryValues()
  const upstream: UpstreamState = {
    ...{ origin: 'https://s', has_responded: true, refusals: [], breaker: { open: false, since: 0 } },
  }
  const reportOf = (since: number, parts: Partial<ReplicaReport> = {}): ReplicaReport => ({
    ...{
      since,
      upstreams: [upstream],
      mirrors: [],
      storms: [],
      spool: { writable: true, since: 0 },
      ...parts,
    },
  })
  return {
    upstream,
    reportOf,
    reports: (replica: string) => new ReplicaReports({ state, replica, now: () => now }),
    now: () => now,
    pass(seconds: number) {
      now += seconds * SECOND
    },
    state,
  }
}

describe('The reports', () => {
  it('are those of all replicas, and written only when they change or are old', async () => {
    const store = startStore()
    const [a, b] = [store.reports('a'), store.reports('b')]
    await a.exchange(store.reportOf(0))
    const entries = await b.exchange(store.reportOf(0))
    expect([...respondingOf(entries, store.now()).keys()]).toEqual(['a', 'b'])
    expect(store.state.writes).toBe(2)
    const error = { class: 'timeout', first: 1, last: 1, count: 1 } as const
    const failing = (last_error: UpstreamState['last_error']) =>
      store.reportOf(0, { upstreams: [{ ...store.upstream, ...(last_error && { last_error }) }] })
    await a.exchange(store.reportOf(0))
    await a.exchange(failing(error))
    await a.exchange(failing({ ...error, last: 2, count: 2 }))
    expect(store.state.writes).toBe(3)
    store.pass(10)
    await a.exchange(failing({ ...error, last: 3, count: 3 }))
    expect(store.state.writes).toBe(4)
  })

  it('list at most 5 servers, those with an open breaker first', async () => {
    const store = startStore()
    const upstreams = Array.from({ length: 50 }, (_, n) => ({ ...store.upstream, origin: `https://s${n}` }))
    const open = { open: true, since: 1, next_probe: 2 } as const
    upstreams.push({ ...store.upstream, origin: 'https://open', breaker: open as never })
    const entries = await store.reports('a').exchange(store.reportOf(0, { upstreams }))
    const listed = entries.get('a')?.value.upstreams ?? []
    expect([listed.length, listed[0]?.origin]).toEqual([5, 'https://open'])
  })
})

describe('A replica is missed', () => {
  it('when it has not reported for 25 s, until another one takes its place, or for an hour', async () => {
    const store = startStore()
    const [a, b, c] = [store.reports('a'), store.reports('b'), store.reports('c')]
    await b.exchange(store.reportOf(0))
    store.pass(1)
    await a.exchange(store.reportOf(0))
    const missed = async () => absentOf(await a.exchange(store.reportOf(0)), store.now())
    expect(await missed()).toEqual([])
    store.pass(30)
    expect(await missed()).toEqual([{ name: 'b', since: 0 }])
    await c.exchange(store.reportOf(store.now()))
    expect(await missed()).toEqual([])
    await c.remove()
    expect(await missed()).toEqual([{ name: 'b', since: 0 }])
    store.pass(60 * 60)
    expect(await missed()).toEqual([])
  })

  it('not after a clean stop', async () => {
    const store = startStore()
    const [a, b] = [store.reports('a'), store.reports('b')]
    await b.exchange(store.reportOf(0))
    await b.remove()
    store.pass(10)
    await b.exchange(store.reportOf(0)) // the console asks until the end
    store.pass(30)
    expect(absentOf(await a.exchange(store.reportOf(0)), store.now())).toEqual([])
  })
})
