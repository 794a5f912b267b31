/** History of one replica, and of several that share a store. */

import { describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { parseDsn } from '../../../contract/dsn.ts'
import type { HistoryPoint, HistoryRange } from '../../../contract/history.ts'
import { createProjects } from '../../../tunnel/src/projects.ts'
import {
  HISTORY_STEPS,
  type HistoryRow,
  type HistoryStore,
  sumRows,
} from '../../../tunnel/src/telemetry/history.ts'
import { HistoryRecorder } from '../../../tunnel/src/telemetry/history-recorder.ts'
import { Metrics } from '../../../tunnel/src/telemetry/metrics.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 10, 22, 12, 0)
const [PROJECT, OTHER_PROJECT] = ['o1.sentry.example/1', 'o1.sentry.example/2'] as const

type Opened = {
  metrics: Metrics
  count(parts?: Partial<Receipt>): void
  expire(): void
  recorder: HistoryRecorder
  /** Totals of the spool; `undefined` when it does not respond. */
  spool: { envelopes: number; lost?: number } | undefined
  log: string[]
  /** Number of readings of these totals. Each ends the counting of a minute. */
  readings: number
}

class Clock {
  time = START

  /** Advances to `minutes` after the start. */
  at(minutes: number): void {
    this.time = START + minutes * MINUTE
  }
}

class MemoryHistory implements HistoryStore {
  readonly rows = new Map<string, HistoryRow>()
  isFailing = false
  /** Resolves when the disk responds. */
  disk: Promise<void> = Promise.resolve()

  async add(rows: readonly HistoryRow[]): Promise<void> {
    await this.disk
    if (this.isFailing) throw new Error('disk full')
    for (const row of rows) this.rows.set(`${row.step} ${row.time} ${row.replica}`, row)
  }

  async read(step: number, from: number): Promise<HistoryRow[]> {
    return [...this.rows.values()].filter((row) => row.step === step && row.time >= from)
  }
}

function open(clock: Clock, store: HistoryStore, replica = 'r-1'): Opened {
  const dsns = [PROJECT, OTHER_PROJECT].flatMap((name) => parseDsn(`https://abc@${name}`) ?? [])
  const metrics = new Metrics({
    ...{ inFlight: () => 0, bodyBytes: () => 0, limits: () => [], upstreams: () => [], spool: undefined },
    policies: { quotas: () => [], storms: () => [] },
    ...{ projects: createProjects(dsns), now: () => 0, build: { version: '1.2.3', revision: 'abc' } },
  })
  const log: string[] = []
  const spool = async () => {
    opened.readings++
    return opened.spool ?? Promise.reject(new Error('no response'))
  }
  const deps = {
    ...{ store: { id: 's-1', history: store }, metrics, spool, projects: [PROJECT, OTHER_PROJECT], replica },
    logger: {
      info: (line: unknown) => void log.push(String(line)),
      warn: (_: unknown, line?: string) => void log.push(String(line)),
    },
    now: () => clock.time,
  }
  const opened: Opened = {
    metrics,
    count: (parts = {}) => metrics.count({ ...RECEIPT, ...parts }),
    expire: () =>
      metrics.countFinalOutcome({
        ...{ receipt: 'r-0', final_outcome: 'expired', time: 1, waited_ms: 1, project: PROJECT },
        ...{ category: 'error', replica },
      }),
    recorder: new HistoryRecorder(deps),
    spool: { envelopes: 0 },
    log,
    readings: 0,
  }
  return opened
}

const RECEIPT: Receipt = {
  ...{ id: 'r-1', time: 0, project: PROJECT, bytes: 700, outcome: 'delivered', status: 200, replica: 'r' },
  ...{ items: [{ type: 'event', bytes: 600 }], duration_ms: 30 },
}

describe('HistoryRecorder', () => {
  it('stores the counts of each minute, and of the ten minutes and the hour so far', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, ...tunnel } = open(clock, store)
    tunnel.count()
    clock.at(1)
    await recorder.record()
    tunnel.count({ outcome: 'rejected', reason: 'spool-full', status: 503, duration_ms: 3_000 })
    tunnel.expire()
    clock.at(2)
    await recorder.record()
    const { points, ...range } = await recorder.read('1h')
    expect(range).toEqual({ range: '1h', step_ms: MINUTE, from: START - 58 * MINUTE, to: START + 2 * MINUTE })
    expect(points).toEqual([
      {
        ...{ time: START, replicas: 1, outcomes: { delivered: 1 }, categories: { error: 1 } },
        ...{ items: { event: 1 }, final_outcomes: {}, bytes: 700, unavailable: 0, vanished: 0, pending: 0 },
        durations: expect.objectContaining({ 0.05: 1, '+Inf': 1 }),
      },
      {
        ...{ time: START + MINUTE, replicas: 1, outcomes: { rejected: 1 }, categories: { error: 1 } },
        ...{ items: { event: 1 }, final_outcomes: { expired: 1 } },
        ...{ bytes: 700, unavailable: 1, vanished: 0, pending: 0 },
        durations: { 5: 1, 10: 1, '+Inf': 1 },
      },
    ])
    for (const range of ['24h', '7d'] as const)
      expect((await recorder.read(range)).points).toMatchObject([
        { time: START, outcomes: { delivered: 1, rejected: 1 }, bytes: 1_400, durations: { '+Inf': 2 } },
      ])
  })

  it('begins a row at each full step', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, count } = open(clock, store)
    for (let minute = 1; minute <= 65; minute++) {
      count()
      clock.at(minute)
      await recorder.record()
    }
    const countsOf = async (range: '1h' | '24h' | '7d') =>
      (await recorder.read(range)).points.map(({ outcomes }) => outcomes.delivered)
    expect(await countsOf('1h')).toEqual(Array(60).fill(1))
    expect(await countsOf('24h')).toEqual([10, 10, 10, 10, 10, 10, 5])
    expect(await countsOf('7d')).toEqual([60, 5])
  })

  it('stores a minute without envelopes, and leaves out the minutes in which no replica ran', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const first = open(clock, store)
    clock.at(1)
    await first.recorder.record()
    clock.at(5)
    const { recorder } = open(clock, store, 'r-2')
    clock.at(6)
    await recorder.record()
    const { points } = await recorder.read('15m')
    expect(points.map(({ time, outcomes }) => [(time - START) / MINUTE, outcomes])).toEqual([
      [0, {}],
      [5, {}],
    ])
  })

  it('sums up replicas, and counts the pending entries of their spool once', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const [first, second] = [open(clock, store), open(clock, store, 'r-2')]
    first.count()
    for (let n = 0; n < 3; n++) second.count()
    first.spool = { envelopes: 7, lost: 2 }
    second.spool = { envelopes: 6 }
    clock.at(1)
    await Promise.all([first.recorder.record(), second.recorder.record()])
    for (const { recorder } of [first, second])
      expect((await recorder.read('24h')).points).toMatchObject([
        { replicas: 2, outcomes: { delivered: 4 }, durations: { '+Inf': 4 }, pending: 7, vanished: 2 },
      ])
  })

  it('sums up reach tests and errors from browsers, which a span without any leaves out', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const [first, second] = [open(clock, store), open(clock, store, 'r-2')]
    first.metrics.countReach('blocked', PROJECT)
    second.metrics.countReach('blocked', OTHER_PROJECT)
    second.metrics.countReach('reachable', PROJECT)
    for (const { count } of [first, second]) count({ origin: 'https://shop.example' })
    second.count()
    clock.at(1)
    await Promise.all([first.recorder.record(), second.recorder.record()])
    clock.at(2)
    await first.recorder.record()
    const { points } = await first.recorder.read('1h')
    expect(points.map(({ reach, browser_errors }) => [reach, browser_errors])).toEqual([
      [{ blocked: 2, reachable: 1 }, 2],
      [undefined, undefined],
    ])
  })

  it('returns the pending entries at the end of a span, and the last known ones while the spool does not respond', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const opened = open(clock, store)
    const spools = [{ envelopes: 900 }, { envelopes: 20 }, undefined]
    for (const [index, spool] of spools.entries()) {
      opened.spool = spool
      clock.at(index + 1)
      await opened.recorder.record()
    }
    for (const range of ['24h', '7d'] as const)
      expect((await opened.recorder.read(range)).points).toMatchObject([{ pending: 20 }])
  })

  it('loses only the minute in progress when its replica is killed, and counts nothing twice after a restart', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const killed = open(clock, store)
    killed.count()
    clock.at(1)
    await killed.recorder.record()
    killed.count()
    clock.at(1.5)
    const { recorder, count } = open(clock, store, 'r-2')
    count()
    clock.at(2)
    await recorder.record()
    const { points } = await recorder.read('7d')
    expect(points).toMatchObject([{ outcomes: { delivered: 2 }, replicas: 2 }])
  })

  it('stores the minute in progress when it stops', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, count } = open(clock, store)
    clock.at(0.5)
    count()
    await recorder.stop()
    expect(await sumRows(await store.read(MINUTE, 0))).toMatchObject([{ outcomes: { delivered: 1 } }])
  })

  it('stores the losses of a failure of six hours in the rows of each step when the store works again', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, count } = open(clock, store)
    store.isFailing = true
    for (let minute = 1; minute <= 360; minute++) {
      count({ outcome: 'rejected', reason: 'spool-unwritable', status: 503 })
      clock.at(minute)
      await recorder.record()
    }
    store.isFailing = false
    clock.at(361)
    await recorder.record()
    const lostIn = async (range: HistoryRange) =>
      (await recorder.read(range)).points.reduce((sum, { unavailable }) => sum + unavailable, 0)
    expect([await lostIn('1h'), await lostIn('24h'), await lostIn('7d')]).toEqual([59, 360, 360])
  })

  it('logs once that rows are not stored, has a warning with the reason, and logs when they are stored again', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, log } = open(clock, store)
    for (const [minute, isFailing] of [false, true, true, false, false, true].entries()) {
      store.isFailing = isFailing
      clock.at(minute + 1)
      await recorder.record()
      if (isFailing) expect(recorder.warning).toContain('not stored now: disk full.')
      else expect(recorder.warning).toBeUndefined()
    }
    expect(log).toEqual([
      'the history is not stored',
      'the history is stored again',
      'the history is not stored',
    ])
  })

  it('keeps as many unsaved rows of each step as the store does', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder } = open(clock, store)
    store.isFailing = true
    for (let hour = 1; hour <= 200; hour++) {
      clock.at(60 * hour)
      await recorder.record()
    }
    store.isFailing = false
    await recorder.stop()
    const rowsOf = async (step: number) => (await store.read(step, 0)).length
    expect([await rowsOf(MINUTE), await rowsOf(10 * MINUTE), await rowsOf(HOUR)]).toEqual([90, 150, 170])
  })

  it('counts each minute while the store does not respond', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const opened = open(clock, store)
    const disk = Promise.withResolvers<void>()
    store.disk = disk.promise
    const recorded: Promise<void>[] = []
    for (const minute of [1, 2, 3]) {
      opened.count()
      clock.at(minute)
      recorded.push(opened.recorder.record())
      await expect.poll(() => opened.readings).toBe(minute)
    }
    disk.resolve()
    await Promise.all(recorded)
    const { points } = await opened.recorder.read('1h')
    expect(points.map(({ outcomes }) => outcomes.delivered)).toEqual([1, 1, 1])
  })

  it('adds to the current row when the clock is set back', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, count } = open(clock, store)
    for (const minute of [30, 2, 3, 31]) {
      count()
      clock.at(minute)
      await recorder.record()
    }
    const rows = await sumRows(await store.read(HOUR, 0))
    expect(rows).toMatchObject([{ outcomes: { delivered: 4 } }])
    const minutes = await sumRows(await store.read(MINUTE, 0))
    expect(minutes.reduce((sum, { outcomes }) => sum + (outcomes.delivered ?? 0), 0)).toBe(4)
  })

  it('counts at the present time again after the clock was ahead for a minute', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, count } = open(clock, store)
    const ahead = 9 * 24 * 60
    for (const minute of [1, 2, ahead, ahead + 1, 3, 4, 5]) {
      count()
      clock.at(minute)
      await recorder.record()
    }
    const { points } = await recorder.read('1h')
    expect(points.map(({ time, outcomes }) => [(time - START) / MINUTE, outcomes.delivered])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 1],
    ])
    for (const range of ['24h', '7d'] as const) expect(sumOf((await recorder.read(range)).points)).toBe(6)
  })

  it('loses no counts when the clock is set back over hours that it has counted', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, count } = open(clock, store)
    const pass = async (from: number, to: number) => {
      for (let minute = from; minute <= to; minute++) {
        count()
        clock.at(minute)
        await recorder.record()
      }
    }
    await pass(1, 180)
    await pass(10, 180)
    for (const { step } of HISTORY_STEPS) expect(sumOf(await sumRows(await store.read(step, 0)))).toBe(351)
  })

  it('counts while the spool does not respond', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const opened = open(clock, store)
    opened.spool = { envelopes: 1, lost: 5 }
    clock.at(1)
    await opened.recorder.record()
    opened.spool = undefined
    opened.count()
    clock.at(2)
    await opened.recorder.record()
    const [, point] = (await opened.recorder.read('15m')).points
    expect(point).toMatchObject({ outcomes: { delivered: 1 }, vanished: 0 })
    expect(point).not.toHaveProperty('pending')
  })

  it('returns the counts of one project', async () => {
    const [clock, store] = [new Clock(), new MemoryHistory()]
    const { recorder, count } = open(clock, store)
    count()
    count({ project: OTHER_PROJECT, outcome: 'filtered' })
    clock.at(1)
    await recorder.record()
    expect((await recorder.read('1h', OTHER_PROJECT)).points).toMatchObject([
      { outcomes: { filtered: 1 }, categories: { error: 1 }, bytes: 700, durations: {} },
    ])
    expect(recorder.knows(PROJECT)).toBe(true)
    expect(recorder.knows('elsewhere.example/1')).toBe(false)
  })
})

function sumOf(points: readonly HistoryPoint[]): number {
  return points.reduce((sum, { outcomes }) => sum + (outcomes.delivered ?? 0), 0)
}

describe('sumRows', () => {
  it('lets other work run between the rows of many replicas', async () => {
    const rows = Array.from({ length: 1_000 }, (_, i) => ({
      ...{ step: HOUR, time: START, replica: `r-${i}`, data: '{"bytes":1}' },
    }))
    let turns = 0
    const turn = () => {
      turns++
      immediate = setImmediate(turn)
    }
    let immediate = setImmediate(turn)
    expect(await sumRows(rows)).toMatchObject([{ bytes: 1_000, replicas: 1_000 }])
    clearImmediate(immediate)
    expect(turns).toBeGreaterThan(5)
  })

  it('skips rows that cannot be read, and accepts those of another release', async () => {
    const row = { step: HOUR, time: START, replica: 'r-1' }
    const points = await sumRows([
      { ...row, data: '{"outcomes":' },
      { ...row, data: 'null' },
      { ...row, data: '{"outcomes":{"delivered":2},"new_field":{}}' },
    ])
    expect(points).toMatchObject([{ outcomes: { delivered: 2 }, items: {}, bytes: 0, replicas: 1 }])
  })
})
