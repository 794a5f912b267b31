/** Snapshots of one replica, and figures of several that share a store. */

import { rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FinalOutcome, Receipt } from '../../../contract/admin-api.ts'
import { parseDsn } from '../../../contract/dsn.ts'
import type { FiguresPoint } from '../../../contract/figures.ts'
import { Counters } from '../../../tunnel/src/observe/counters.ts'
import { SnapshotRecorder } from '../../../tunnel/src/observe/snapshot-recorder.ts'
import { TallyFile } from '../../../tunnel/src/observe/tally.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import {
  SNAPSHOT_STEPS,
  type SnapshotRow,
  type SnapshotStore,
} from '../../../tunnel/src/pipeline/shared-state.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

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
let folder: Awaited<ReturnType<typeof makeMemoryFolder>>

beforeEach(async () => {
  clock = new Clock()
  store = new MemoryStore()
  folder = await makeMemoryFolder()
})

afterEach(() => folder[Symbol.asyncDispose]())

function open(replica = 'r-1') {
  const dsns = [PROJECT, OTHER_PROJECT].flatMap((name) => parseDsn(`https://abc@${name}`) ?? [])
  const projects = createProjects(dsns)
  const log: string[] = []
  const tally = new TallyFile(folder.path, replica, (error) => void log.push(String(error)))
  const now = () => clock.time
  const counters = new Counters(projects, tally, now)
  const deps = {
    ...{ store, storeId: () => 's-1', counters, tally, projects, replica, now, clock: now },
    pending: async () => {
      opened.readings++
      return opened.spool ?? Promise.reject(new Error('no response'))
    },
    logger: {
      info: (line: unknown) => void log.push(String(line)),
      warn: (_: unknown, line?: string) => void log.push(String(line)),
    },
  }
  const recorder = new SnapshotRecorder(deps)
  const opened = {
    ...{ counters, recorder, log, tally },
    count: (parts: Partial<Receipt> = {}, requestId = 'a'.repeat(32)) =>
      counters.count({ ...RECEIPT, ...parts }, requestId),
    end: (finalOutcome: FinalOutcome) =>
      counters.countFinalOutcome({ final_outcome: finalOutcome, project: PROJECT }),
    /** Totals of the spool; `undefined` when it does not respond. */
    spool: { envelopes: 0 } as { envelopes: number; lost?: number } | undefined,
    /** Number of readings of these totals. Each ends the counting of a minute. */
    readings: 0,
    /** Returns the points of all that is kept of a step. */
    async points(step = MINUTE, project?: string): Promise<FiguresPoint[]> {
      const { keepMs = 0 } = SNAPSHOT_STEPS.find((each) => each.step === step) ?? {}
      const range = { from: Math.floor((clock.time - keepMs) / step) * step, to: clock.time + 1, step }
      return (await recorder.read(range, step, project)).points
    },
  }
  return opened
}

const minuteOf = ({ time }: FiguresPoint) => (time - START) / MINUTE
const deliveredIn = (points: readonly FiguresPoint[]) =>
  points.reduce((sum, { outcomes }) => sum + (outcomes.delivered ?? 0), 0)

describe('SnapshotRecorder', () => {
  it('stores the counts of each minute, and of the ten minutes and the hour so far', async () => {
    const tunnel = open()
    tunnel.count({ outcome: 'spooled' })
    clock.at(1)
    await tunnel.recorder.record()
    tunnel.count({ outcome: 'rejected', reason: 'spool-full', status: 503, duration_ms: 3_000 })
    tunnel.end('expired')
    clock.at(2)
    await tunnel.recorder.record()
    const other = open('r-2') // has counted nothing
    expect(await other.points()).toEqual([
      {
        ...{ time: START, replicas: 1, received: 1, outcomes: { spooled: 1 }, categories: { error: 1 } },
        ...{
          items: { 'event:spooled': 1 },
          final_outcomes: {},
          resent: 0,
          bytes: 700,
          vanished: 0,
          reach: {},
        },
        ...{ browser_errors: 0, upstreams: {}, mirrored: {}, pending: 1, unknown: 0 },
        durations: expect.objectContaining({ 0.05: 1, '+Inf': 1 }),
      },
      {
        ...{ time: START + MINUTE, replicas: 1, received: 1, outcomes: { 'rejected:spool-full': 1 } },
        ...{ categories: { error: 1 }, items: { 'event:rejected': 1 }, final_outcomes: { expired: 1 } },
        ...{ resent: 0, bytes: 700, vanished: 0, reach: {}, browser_errors: 0, upstreams: {}, pending: 0 },
        ...{ mirrored: {}, unknown: 0 },
        durations: { 5: 1, 10: 1, '+Inf': 1 },
      },
    ])
    for (const step of [10 * MINUTE, HOUR])
      expect(await other.points(step)).toMatchObject([
        { time: START, outcomes: { spooled: 1, 'rejected:spool-full': 1 }, bytes: 1_400, received: 2 },
      ])
  })

  it('begins a row at each full step', async () => {
    const { recorder, count, points } = open()
    for (let minute = 1; minute <= 65; minute++) {
      count()
      clock.at(minute)
      await recorder.record()
    }
    const countsOf = async (step: number) => (await points(step)).map(({ outcomes }) => outcomes.delivered)
    expect(await countsOf(MINUTE)).toEqual(Array(65).fill(1))
    expect(await countsOf(10 * MINUTE)).toEqual([10, 10, 10, 10, 10, 10, 5])
    expect(await countsOf(HOUR)).toEqual([60, 5])
  })

  it('stores a minute without envelopes, and leaves out the minutes in which no replica ran', async () => {
    const first = open()
    clock.at(1)
    await first.recorder.record()
    clock.at(5)
    const { recorder, points } = open('r-2')
    clock.at(6)
    await recorder.record()
    expect((await points()).map(minuteOf)).toEqual([0, 5])
  })

  it('stores nothing within a minute in which nothing was counted', async () => {
    const { recorder, readings } = open()
    clock.at(0.5)
    await recorder.record()
    expect([store.rows.size, readings]).toEqual([0, 0])
  })

  it('returns what it has counted and not stored, and what the others have stored', async () => {
    const [first, second] = [open(), open('r-2')]
    first.count()
    second.count()
    clock.at(0.25)
    await first.recorder.record()
    first.count()
    expect(deliveredIn(await first.points())).toBe(2)
    expect(deliveredIn(await second.points())).toBe(2)
    clock.at(1)
    await Promise.all([first.recorder.record(), second.recorder.record()])
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
    await first.recorder.record()
    clock.at(1.01)
    await second.recorder.record()
    for (const { points } of [first, second])
      expect(await points(10 * MINUTE)).toMatchObject([
        {
          ...{ replicas: 2, outcomes: { delivered: 2 }, durations: { '+Inf': 2 }, pending: 7, vanished: 2 },
          ...{ reach: { blocked: 2, reachable: 1 }, browser_errors: 2 },
        },
      ])
  })

  it('stores the minute in progress when it stops, and removes the tally', async () => {
    const { recorder, count, tally } = open()
    clock.at(0.5)
    count()
    await recorder.stop()
    const other = open('r-2')
    expect(await other.points()).toMatchObject([{ outcomes: { delivered: 1 }, unknown: 0 }])
    expect([tally.counted, await other.tally.others()]).toEqual([1, []])
  })

  it('leaves the tally to the other replicas when the last minute cannot be stored', async () => {
    const { recorder, count } = open()
    count()
    store.isFailing = true
    await recorder.stop()
    expect(await open('r-2').tally.others()).toMatchObject([{ replica: 'r-1', counted: 1 }])
  })

  it('stores the losses of a failure of six hours in the rows of each step when the store works again', async () => {
    const { recorder, count, points } = open()
    store.isFailing = true
    for (let minute = 1; minute <= 360; minute++) {
      count({ outcome: 'rejected', reason: 'spool-unwritable', status: 503 })
      clock.at(minute)
      await recorder.record()
    }
    store.isFailing = false
    clock.at(361)
    await recorder.record()
    const lostIn = async (step: number) =>
      (await points(step)).reduce(
        (sum, { outcomes }) => sum + (outcomes['rejected:spool-unwritable'] ?? 0),
        0,
      )
    expect([await lostIn(MINUTE), await lostIn(10 * MINUTE), await lostIn(HOUR)]).toEqual([89, 360, 360])
  })

  it('logs once that rows are not stored, has a warning with the reason, and logs when they are stored again', async () => {
    const { recorder, log } = open()
    for (const [minute, isFailing] of [false, true, true, false, false, true].entries()) {
      store.isFailing = isFailing
      clock.at(minute + 1)
      await recorder.record()
      if (isFailing) expect(recorder.warning).toContain('not stored now: disk full.')
      else expect(recorder.warning).toBeUndefined()
    }
    expect(log).toEqual([
      'the figures are not stored',
      'the figures are stored again',
      'the figures are not stored',
    ])
  })

  it('keeps as many unsaved rows of each step as the store does', async () => {
    const { recorder } = open()
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
    const tunnel = open()
    const disk = Promise.withResolvers<void>()
    store.disk = disk.promise
    const recorded: Promise<void>[] = []
    for (const minute of [1, 2, 3]) {
      tunnel.count()
      clock.at(minute)
      recorded.push(tunnel.recorder.record())
      await expect.poll(() => tunnel.readings).toBe(minute)
    }
    disk.resolve()
    await Promise.all(recorded)
    expect((await open('r-2').points()).map(({ outcomes }) => outcomes.delivered)).toEqual([1, 1, 1])
  })

  it('adds to the current row when the clock is set back', async () => {
    const { recorder, count, points } = open()
    for (const minute of [30, 2, 3, 31]) {
      count()
      clock.at(minute)
      await recorder.record()
    }
    expect(await points(HOUR)).toMatchObject([{ outcomes: { delivered: 4 } }])
    expect(deliveredIn(await points(MINUTE))).toBe(4)
  })

  it('counts at the present time again after the clock was ahead for a minute', async () => {
    const { recorder, count, points } = open()
    const ahead = 9 * 24 * 60
    for (const minute of [1, 2, ahead, ahead + 1, 3, 4, 5]) {
      count()
      clock.at(minute)
      await recorder.record()
    }
    expect((await points()).map((point) => [minuteOf(point), point.outcomes.delivered])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 1],
    ])
    for (const step of [10 * MINUTE, HOUR]) expect(deliveredIn(await points(step))).toBe(6)
  })

  it('loses no counts when the clock is set back over hours that it has counted', async () => {
    const { recorder, count, points } = open()
    const pass = async (from: number, to: number) => {
      for (let minute = from; minute <= to; minute++) {
        count()
        clock.at(minute)
        await recorder.record()
      }
    }
    await pass(1, 180)
    await pass(10, 180)
    expect(deliveredIn(await points(HOUR))).toBe(351)
  })

  it('counts while the spool does not respond', async () => {
    const tunnel = open()
    tunnel.spool = { envelopes: 1, lost: 5 }
    clock.at(1)
    await tunnel.recorder.record()
    tunnel.spool = undefined
    tunnel.count()
    clock.at(2)
    await tunnel.recorder.record()
    expect((await tunnel.points())[1]).toMatchObject({ outcomes: { delivered: 1 }, vanished: 0, pending: 1 })
  })

  it('returns the counts of one project', async () => {
    const { recorder, count, points } = open()
    count()
    count({ project: OTHER_PROJECT, outcome: 'filtered', reason: 'empty' })
    clock.at(1)
    await recorder.record()
    expect(await points(MINUTE, OTHER_PROJECT)).toMatchObject([
      {
        ...{ received: 1, outcomes: { 'filtered:empty': 1 }, categories: { error: 1 }, bytes: 700 },
        ...{ durations: {}, unknown: 0, pending: 0 },
      },
    ])
    expect(recorder.knows(PROJECT)).toBe(true)
    expect(recorder.knows('elsewhere.example/1')).toBe(false)
  })

  it('lets other work run between the rows of many replicas', async () => {
    await store.add(
      Array.from({ length: 1_000 }, (_, i) => ({
        ...{ step: HOUR, time: START, replica: `r-${i}`, data: '{"received":1}' },
      })),
    )
    let turns = 0
    const turn = () => {
      turns++
      immediate = setImmediate(turn)
    }
    let immediate = setImmediate(turn)
    expect(await open().points(HOUR)).toMatchObject([{ received: 1_000, replicas: 1_000 }])
    clearImmediate(immediate)
    expect(turns).toBeGreaterThan(5)
  })

  it('rejects when the store fails', async () => {
    store.isFailing = true
    await expect(open().points()).rejects.toThrow('disk full')
  })
})

describe('A lost replica', () => {
  it('leaves the number of its last envelopes, which another one counts once as unknown', async () => {
    const killed = open()
    killed.count()
    clock.at(0.5)
    await killed.recorder.record()
    for (let n = 0; n < 3; n++) killed.count({ outcome: 'spooled' })
    await lastSignOfLife('r-1', START + 0.6 * MINUTE)
    const others = [open('r-2'), open('r-3')]
    for (const seconds of [36, 65]) {
      clock.at(seconds / 60)
      for (const { recorder } of others) await recorder.watch()
      expect((await others[0]?.points())?.map(({ received }) => received)).toEqual([1])
    }
    clock.at(66 / 60)
    await Promise.all(others.map(({ recorder }) => recorder.watch()))
    for (const step of [MINUTE, 10 * MINUTE, HOUR])
      expect(await others[0]?.points(step)).toMatchObject([
        { received: 4, outcomes: { delivered: 1 }, unknown: 3, pending: 0 },
      ])
    const left = await others[0]?.tally.others()
    expect(left?.map(({ replica }) => replica)).toEqual(['r-3'])
  })

  it('is not one whose tally changes, or that has stored all it counted', async () => {
    const [first, second] = [open(), open('r-2')]
    for (let second_ = 0; second_ <= 90; second_ += 15) {
      clock.at(second_ / 60)
      first.count()
      await lastSignOfLife('r-1', clock.time)
      await second.recorder.watch()
    }
    await first.recorder.record()
    await second.recorder.watch()
    clock.at(3)
    await second.recorder.watch()
    expect(await second.points(HOUR)).toMatchObject([{ received: 7, unknown: 0 }])
    expect((await second.tally.others()).length).toBe(0)
  })

  it('counts an envelope once that nginx has sent to another replica after its response was lost', async () => {
    const killed = open()
    const [id, other] = ['b'.repeat(32), 'c'.repeat(32)]
    killed.count({}, id)
    const second = open('r-2')
    for (const each of [id, other]) second.count({ flags: ['retried'] }, each)
    clock.at(0.1)
    await second.recorder.record()
    await lastSignOfLife('r-1', START + 5_000)
    await second.recorder.watch()
    clock.at(0.9)
    await second.recorder.watch()
    expect(await second.points()).toMatchObject([{ received: 2, outcomes: { delivered: 2 }, unknown: 0 }])
  })

  it('takes back its envelopes when it only stood still', async () => {
    const paused = open()
    paused.count()
    paused.count()
    await lastSignOfLife('r-1', START)
    const second = open('r-2')
    await second.recorder.watch()
    clock.at(0.6)
    await second.recorder.watch()
    expect(await second.points()).toMatchObject([{ received: 2, unknown: 2 }])
    paused.count()
    await paused.recorder.watch()
    await paused.recorder.record()
    expect(await second.points()).toMatchObject([{ received: 3, unknown: 0, outcomes: { delivered: 3 } }])
    expect(await second.tally.others()).toMatchObject([{ replica: 'r-1', counted: 3 }])
  })

  it('is counted in memory when there can be no tally', async () => {
    await rm(folder.path, { recursive: true })
    const { writeFile } = await import('node:fs/promises')
    await writeFile(folder.path, '')
    const { recorder, count, log, points } = open()
    expect(log).toHaveLength(1)
    count()
    clock.at(1)
    await recorder.record()
    await recorder.watch()
    expect(await points()).toMatchObject([{ received: 1 }])
  })
})

function lastSignOfLife(replica: string, time: number): Promise<void> {
  return utimes(join(folder.path, `envelopes-${replica}`), time / 1000, time / 1000)
}
