/** History of one replica, and figures of several that share a store. */

import { beforeEach, describe, expect, it } from 'vitest'
import type { FinalOutcome, Receipt } from '../../../contract/admin-api.ts'
import { parseDsn } from '../../../contract/dsn.ts'
import { type FiguresPoint, noCounts } from '../../../contract/figures.ts'
import { Counters } from '../../../tunnel/src/observe/counters.ts'
import { History } from '../../../tunnel/src/observe/history.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import {
  SNAPSHOT_STEPS,
  type SnapshotRow,
  type SnapshotStore,
} from '../../../tunnel/src/pipeline/shared-state.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 10, 22, 12, 0)
const [PROJECT, OTHER_PROJECT] = ['o1.sentry.example/1', 'o1.sentry.example/2'] as const

const RECEIPT: Receipt = {
  ...{ id: 'r-1', time: 0, project: PROJECT, bytes: 700, outcome: 'delivered', status: 200, replica: 'r' },
  ...{ items: [{ type: 'event', bytes: 600 }], duration_ms: 30 },
}

class Clock {
  time = START

  /** Advances to `minutes` after the start. */
  at(minutes: number): void {
    this.time = START + minutes * MINUTE
  }
}

class MemoryStore implements SnapshotStore {
  readonly rows = new Map<string, SnapshotRow>()
  isFailing = false
  /** Resolves when the disk responds. */
  disk: Promise<void> = Promise.resolve()

  async add(rows: readonly SnapshotRow[]): Promise<void> {
    await this.disk
    if (this.isFailing) throw new Error('disk full')
    for (const row of rows) this.rows.set(`${row.step} ${row.time} ${row.replica}`, row)
  }

  async read(step: number, from: number): Promise<SnapshotRow[]> {
    if (this.isFailing) throw new Error('disk full')
    return [...this.rows.values()].filter((row) => row.step === step && row.time >= from)
  }
}

let clock: Clock
let store: MemoryStore

beforeEach(() => {
  clock = new Clock()
  store = new MemoryStore()
})

function open(replica = 'r-1') {
  const dsns = [PROJECT, OTHER_PROJECT].flatMap((name) => parseDsn(`https://abc@${name}`) ?? [])
  const projects = createProjects(dsns)
  const log: string[] = []
  const now = () => clock.time
  const counters = new Counters(projects, now)
  const deps = {
    ...{ store, counters, replica, now },
    pending: async () => {
      opened.readings++
      return opened.spool ?? Promise.reject(new Error('no response'))
    },
    logger: {
      info: (line: unknown) => void log.push(String(line)),
      warn: (_: unknown, line?: string) => void log.push(String(line)),
    },
  }
  const history = new History(deps)
  const opened = {
    ...{ counters, history, log },
    count: (parts: Partial<Receipt> = {}) => counters.count({ ...RECEIPT, ...parts }),
    end: (finalOutcome: FinalOutcome) =>
      counters.countFinalOutcome({ final_outcome: finalOutcome, project: PROJECT }),
    /** Totals of the spool; `undefined` when it does not respond. */
    spool: { envelopes: 0 } as { envelopes: number; lost?: number } | undefined,
    /** Number of readings of these totals. Each ends the counting of a minute. */
    readings: 0,
    /** Returns the points of all that is kept of a step. */
    async points(step = MINUTE): Promise<FiguresPoint[]> {
      const { keepMs = 0 } = SNAPSHOT_STEPS.find((each) => each.step === step) ?? {}
      const range = { from: Math.floor((clock.time - keepMs) / step) * step, to: clock.time, step }
      return (await history.read(range, step)).points
    },
  }
  return opened
}

const minuteOf = ({ time }: FiguresPoint) => (time - START) / MINUTE
const deliveredIn = (points: readonly FiguresPoint[]) =>
  points.reduce((sum, { outcomes }) => sum + (outcomes.delivered ?? 0), 0)

describe('History', () => {
  it('stores the counts of each minute, and of the ten minutes and the hour so far', async () => {
    const tunnel = open()
    tunnel.count({ outcome: 'spooled' })
    clock.at(1)
    await tunnel.history.record()
    tunnel.count({ outcome: 'rejected', reason: 'spool-full', status: 503, duration_ms: 3_000 })
    tunnel.end('expired')
    clock.at(2)
    await tunnel.history.record()
    const other = open('r-2') // has counted nothing
    const counts = { ...noCounts(), replicas: 1, received: 1, bytes: 700, unknown: 0 }
    expect(await other.points()).toEqual([
      {
        ...{ ...counts, time: START, outcomes: { spooled: 1 }, items: { 'event:spooled': 1 }, pending: 1 },
        durations: expect.objectContaining({ 0.05: 1, '+Inf': 1 }),
      },
      {
        ...{ ...counts, time: START + MINUTE, outcomes: { 'rejected:spool-full': 1 } },
        ...{ items: { 'event:rejected': 1 }, final_outcomes: { expired: 1 }, pending: 0 },
        durations: { 5: 1, 10: 1, '+Inf': 1 },
      },
    ])
    for (const step of [10 * MINUTE, HOUR])
      expect(await other.points(step)).toMatchObject([
        { time: START, outcomes: { spooled: 1, 'rejected:spool-full': 1 }, bytes: 1_400, received: 2 },
      ])
  })

  it('begins a row at each full step', async () => {
    const { history, count, points } = open()
    for (let minute = 1; minute <= 65; minute++) {
      count()
      clock.at(minute)
      await history.record()
    }
    const countsOf = async (step: number) => (await points(step)).map(({ outcomes }) => outcomes.delivered)
    expect(await countsOf(MINUTE)).toEqual(Array(65).fill(1))
    expect(await countsOf(10 * MINUTE)).toEqual([10, 10, 10, 10, 10, 10, 5])
    expect(await countsOf(HOUR)).toEqual([60, 5])
  })

  it('stores a minute without envelopes, and leaves out the minutes in which no replica ran', async () => {
    const first = open()
    for (const minute of [0.1, 1, 1.5]) {
      clock.at(minute)
      await first.history.record()
    }
    clock.at(5.5)
    const { history, points } = open('r-2') // the first one was killed
    clock.at(6)
    await history.record()
    expect((await points()).map(minuteOf)).toEqual([0, 1, 5])
  })

  it('stores a row when a minute begins, and then nothing until something is counted', async () => {
    const tunnel = open()
    for (const minute of [0.1, 0.2, 0.5]) {
      clock.at(minute)
      await tunnel.history.record()
    }
    expect([store.rows.size, tunnel.readings]).toEqual([SNAPSHOT_STEPS.length, 1])
  })

  it('returns what it has counted and not stored, and what the others have stored', async () => {
    const [first, second] = [open(), open('r-2')]
    first.count()
    second.count()
    clock.at(0.25)
    await first.history.record()
    first.count()
    expect(deliveredIn(await first.points())).toBe(2)
    expect(deliveredIn(await second.points())).toBe(2)
    clock.at(1)
    await Promise.all([first.history.record(), second.history.record()])
    expect(await second.points()).toMatchObject([{ outcomes: { delivered: 3 }, received: 3, replicas: 2 }])
  })

  it('sums up the losses, reach tests and errors from browsers of replicas, and counts pending entries once', async () => {
    const [first, second] = [open(), open('r-2')]
    for (const { count } of [first, second]) count({ origin: 'https://shop.example' })
    first.counters.countReach('blocked', PROJECT)
    second.counters.countReach('blocked', OTHER_PROJECT)
    second.counters.countReach('reachable', PROJECT)
    first.spool = { envelopes: 7, lost: 2 }
    second.spool = { envelopes: 7 }
    clock.at(1)
    await first.history.record()
    clock.at(1.01)
    await second.history.record()
    for (const { points } of [first, second])
      expect(await points(10 * MINUTE)).toMatchObject([
        {
          ...{ replicas: 2, outcomes: { delivered: 2 }, durations: { '+Inf': 2 }, pending: 7, vanished: 2 },
          ...{ reach: { blocked: 2, reachable: 1 }, browser_envelopes: 2, browser_errors: 2 },
        },
      ])
  })

  it('stores the minute in progress when it stops', async () => {
    const { history, count } = open()
    clock.at(0.5)
    count()
    await history.stop()
    const other = open('r-2')
    expect(await other.points()).toMatchObject([{ outcomes: { delivered: 1 }, unknown: 0 }])
  })

  it('stores the losses of a failure of six hours in the rows of each step when the store works again', async () => {
    const { history, count, points } = open()
    store.isFailing = true
    for (let minute = 1; minute <= 360; minute++) {
      count({ outcome: 'rejected', reason: 'spool-unwritable', status: 503 })
      clock.at(minute)
      await history.record()
    }
    store.isFailing = false
    clock.at(361)
    await history.record()
    const lostIn = async (step: number) =>
      (await points(step)).reduce(
        (sum, { outcomes }) => sum + (outcomes['rejected:spool-unwritable'] ?? 0),
        0,
      )
    expect([await lostIn(MINUTE), await lostIn(10 * MINUTE), await lostIn(HOUR)]).toEqual([89, 360, 360])
  })

  it('logs once that rows are not stored, has a warning with the reason, and logs when they are stored again', async () => {
    const { history, log } = open()
    for (const [minute, isFailing] of [false, true, true, false, false, true].entries()) {
      store.isFailing = isFailing
      clock.at(minute + 1)
      await history.record()
      if (isFailing) expect(history.warning).toContain('not stored now: disk full.')
      else expect(history.warning).toBeUndefined()
    }
    expect(log).toEqual([
      'the figures are not stored',
      'the figures are stored again',
      'the figures are not stored',
    ])
  })

  it('keeps unsaved rows for as long as the store would', async () => {
    const { history } = open()
    store.isFailing = true
    for (let minute = 1; minute <= 200; minute++) {
      clock.at(minute)
      await history.record()
    }
    store.isFailing = false
    await history.stop()
    const times = (await store.read(MINUTE, 0)).map(({ time }) => (time - START) / MINUTE)
    expect(times.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 92 }, (_, i) => 109 + i))
  })

  it('counts each minute while the store does not respond', async () => {
    const tunnel = open()
    const disk = Promise.withResolvers<void>()
    store.disk = disk.promise
    const recorded: Promise<void>[] = []
    for (const minute of [1, 2, 3]) {
      tunnel.count()
      clock.at(minute)
      recorded.push(tunnel.history.record())
      await expect.poll(() => tunnel.readings).toBe(minute)
    }
    disk.resolve()
    await Promise.all(recorded)
    await tunnel.history.record()
    expect((await open('r-2').points()).map(({ outcomes }) => outcomes.delivered)).toEqual([1, 1, 1])
  })

  it('adds to the current row when the clock is set back', async () => {
    const { history, count, points } = open()
    for (const minute of [30, 2, 3, 31]) {
      count()
      clock.at(minute)
      await history.record()
    }
    expect(await points(HOUR)).toMatchObject([{ outcomes: { delivered: 4 } }])
    expect(deliveredIn(await points(MINUTE))).toBe(4)
  })

  it('counts at the present time again after the clock was ahead for a minute', async () => {
    const { history, count, points } = open()
    const ahead = 9 * 24 * 60
    for (const minute of [1, 2, ahead, ahead + 1, 3, 4, 5]) {
      count()
      clock.at(minute)
      await history.record()
    }
    expect((await points()).map((point) => [minuteOf(point), point.outcomes.delivered])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
    ])
    for (const step of [10 * MINUTE, HOUR]) expect(deliveredIn(await points(step))).toBe(5)
  })

  it('loses no counts when the clock is set back over hours that it has counted', async () => {
    const { history, count, points } = open()
    const pass = async (from: number, to: number) => {
      for (let minute = from; minute <= to; minute++) {
        count()
        clock.at(minute)
        await history.record()
      }
    }
    await pass(1, 180)
    await pass(10, 180)
    clock.at(181)
    expect(deliveredIn(await points(HOUR))).toBe(351)
  })

  it('counts while the spool does not respond', async () => {
    const tunnel = open()
    tunnel.spool = { envelopes: 1, lost: 5 }
    clock.at(1)
    await tunnel.history.record()
    tunnel.spool = undefined
    tunnel.count()
    clock.at(2)
    await tunnel.history.record()
    expect((await tunnel.points())[1]).toMatchObject({ outcomes: { delivered: 1 }, vanished: 0, pending: 1 })
  })

  it('lets other work run between the rows of many replicas', async () => {
    await store.add(
      Array.from({ length: 5_000 }, (_, i) => ({
        ...{ step: HOUR, time: START, replica: `r-${i}`, data: '{"outcomes":{"delivered":1}}' },
      })),
    )
    clock.at(1)
    let turns = 0
    const turn = () => {
      turns++
      immediate = setImmediate(turn)
    }
    let immediate = setImmediate(turn)
    expect(await open('reader').points(HOUR)).toMatchObject([{ received: 5_000, replicas: 5_001 }])
    clearImmediate(immediate)
    expect(turns).toBeGreaterThan(5)
  })

  it.each([
    '{"outcomes":{"del',
    '',
    'null',
    '[]',
    '{"outcomes":null}',
    '{"last":"x"}',
    '{"upstreams":{"x":null}}',
  ])('leaves out a row that is %s', async (data) => {
    const tunnel = open()
    tunnel.count()
    clock.at(1)
    await tunnel.history.record()
    await store.add([{ step: MINUTE, time: START, replica: 'r-2', data }])
    expect(await tunnel.points()).toMatchObject([{ received: 1, replicas: 1 }])
  })

  it('rejects when the store fails', async () => {
    store.isFailing = true
    await expect(open().points()).rejects.toThrow('disk full')
  })
})
