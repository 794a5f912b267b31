/** Sharing of Sentry's rate limits by replicas of one spool, with an injected clock. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseDsn } from '../../../../contract/dsn.ts'
import { LimitSharing, type LimitSharingDeps } from '../../../../tunnel/src/forward/limits/limit-sharing.ts'
import { UpstreamLimits } from '../../../../tunnel/src/forward/limits/upstream-limits.ts'
import { createProjects } from '../../../../tunnel/src/pipeline/projects.ts'
import { envelopeWith, typesOf } from '../../../support/read-envelope.ts'
import { OTHER_PROJECT, PROJECT } from '../../../support/spool/entries.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const DAY = 24 * 60 * MINUTE

type Limit = { project: string; category: string; until: number }
type Stored = [name: string, value: unknown, until: number]

/** State that replicas share, in memory. */
class MemoryState {
  isFailing = false
  reads = 0
  writes = 0
  limits: unknown[] = [] // each as `[name, value, end]`
  #revision = 0

  async get() {
    this.reads++
    if (this.isFailing) throw new Error('no space left on device')
    return { value: JSON.stringify(this.limits), revision: this.#revision }
  }

  async put(_: string, value: string, revision: number) {
    if (this.isFailing) throw new Error('no space left on device')
    if (revision !== this.#revision) return false
    this.#revision++
    this.writes++
    this.limits = JSON.parse(value)
    return true
  }

  clockOffsetMs() {
    return 0
  }
}

function limitOf({
  project = PROJECT,
  category = 'error',
  until = Date.now() + MINUTE,
}: Partial<Limit> = {}): Stored {
  return [`${project} ${category}`, { project, category }, until]
}

describe('LimitSharing', () => {
  let shared: MemoryState
  let started: LimitSharing[]

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 7, 14, 12) })
    shared = new MemoryState()
    started = []
  })

  afterEach(() => {
    for (const sharing of started) sharing.stop()
    vi.useRealTimers()
  })

  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  /** Starts a replica. `aheadMs` is the difference of its clock. */
  function startReplica({
    state = shared,
    dsns = [PROJECT, OTHER_PROJECT],
    aheadMs = 0,
  }: {
    state?: LimitSharingDeps['state']
    dsns?: string[]
    aheadMs?: number
  } = {}) {
    const now = () => Date.now() + aheadMs
    const limits = new UpstreamLimits(now)
    const projects = createProjects(dsns.flatMap((text) => parseDsn(text) ?? []))
    const sharing = new LimitSharing({ state, limits, projects, now })
    sharing.start()
    started.push(sharing)
    const find = (key: string) => {
      const project = projects.byKey(key)
      if (!project) throw new Error(`${key} is not configured`)
      return project
    }
    return {
      sharing,
      limits,
      learn: (rateLimits: string, key = PROJECT) =>
        limits.learn(find(key), { status: 429, rateLimits, retryAfter: undefined }),
      held: (types: string[], key = PROJECT) => typesOf(limits.limit(find(key), envelopeWith(...types))),
    }
  }

  it('applies a limit on every replica within a second, to its project and category only', async () => {
    const second = startReplica()
    await pass(500)
    const first = startReplica()
    await pass(1)
    first.learn('60:error:key')
    await pass(SECOND)
    expect(second.held(['event', 'session'])).toEqual(['event'])
    expect(second.held(['event'], OTHER_PROJECT)).toEqual([])
    expect(second.limits.inForce()).toEqual(first.limits.inForce())
  })

  it('ends a limit on every replica when the clock is set back', async () => {
    const [first, second] = [startReplica(), startReplica()]
    first.learn('60:error:key')
    await pass(2 * SECOND)
    expect(second.held(['event'])).toEqual(['event'])
    vi.setSystemTime(Date.now() - 120 * MINUTE)
    await pass(2 * SECOND)
    for (const replica of [first, second]) expect(replica.held(['event'])).toEqual([])
    first.learn('60:error:key')
    expect(first.held(['event'])).toEqual(['event'])
    await pass(MINUTE)
    expect(first.held(['event'])).toEqual([])
  })

  it('shares a limit on all categories', async () => {
    const [first, second] = [startReplica(), startReplica()]
    first.learn('60::key')
    await pass(SECOND)
    expect(second.held(['event', 'session', 'client_report'])).toEqual(['event', 'session'])
  })

  it('applies limits learned before on a replica that starts', async () => {
    startReplica().learn('60:error:key')
    await pass(1)
    const late = startReplica()
    await pass(1)
    expect(late.held(['event'])).toEqual(['event'])
  })

  it('writes a limit once for several responses with it', async () => {
    const [first] = [startReplica(), startReplica()]
    await pass(1)
    for (let i = 0; i < 100; i++) first.learn('60:error:key')
    await pass(5 * SECOND)
    expect(shared.writes).toBe(1)
  })

  it('writes a limit that each response extends a few times a minute, before it ends elsewhere', async () => {
    const [first, second] = [startReplica(), startReplica()]
    await pass(1)
    for (let seconds = 0; seconds < 300; seconds++) {
      first.learn('60:replay:key')
      await pass(SECOND)
      expect(second.held(['replay_event'])).toEqual(['replay_event'])
    }
    expect(shared.writes).toBeLessThanOrEqual(20)
  })

  it('never shortens a limit, and shares the longer one', async () => {
    const [first, second] = [startReplica(), startReplica()]
    await pass(1)
    second.learn('120:error:key')
    first.learn('5:error:key')
    await pass(100 * SECOND)
    expect(first.held(['event'])).toEqual(['event'])
    expect(second.held(['event'])).toEqual(['event'])
  })

  it('keeps its own limits while the spool fails, and shares them when it works again', async () => {
    const [first, second] = [startReplica(), startReplica()]
    await pass(1)
    shared.isFailing = true
    first.learn('60:error:key')
    await pass(10 * SECOND)
    expect(first.held(['event'])).toEqual(['event'])
    expect(second.held(['event'])).toEqual([])
    shared.isFailing = false
    await pass(2 * SECOND)
    expect(second.held(['event'])).toEqual(['event'])
  })

  it('shares its limits again when the spool has lost them', async () => {
    const first = startReplica()
    first.learn('60:error:key')
    await pass(1)
    shared.limits = []
    await pass(SECOND)
    expect(shared.limits).toEqual([limitOf({ until: expect.any(Number) as unknown as number })])
  })

  it('ignores shared limits on unknown projects and categories', async () => {
    shared.limits = [limitOf({ project: OTHER_PROJECT }), limitOf({ category: 'invented' })]
    const { limits } = startReplica({ dsns: [PROJECT] })
    await pass(SECOND)
    expect(limits.inForce()).toEqual([])
    expect(shared.writes).toBe(0)
  })

  it('ends a limit by the clock of each replica', async () => {
    const [first, behind] = [startReplica(), startReplica({ aheadMs: -10 * SECOND })]
    first.learn('60:error:key')
    await pass(MINUTE)
    shared.limits = []
    expect(first.held(['event'])).toEqual([])
    expect(behind.held(['event'])).toEqual(['event'])
    await pass(10 * SECOND)
    expect(behind.held(['event'])).toEqual([])
  })

  it('shares at most 500 limits, and none of a project with a longer DSN than 512 characters', async () => {
    const dsns = Array.from({ length: 501 }, (_, n) => `https://key@sentry.example/${n}`)
    const long = `https://${'k'.repeat(500)}@sentry.example/1`
    const replica = startReplica({ dsns: [...dsns, long] })
    await pass(1)
    replica.learn('60:error:key', long)
    for (const dsn of dsns) replica.learn('60:error:key', dsn)
    await pass(5 * SECOND)
    expect(shared.limits).toHaveLength(500)
    expect(JSON.stringify(shared.limits)).not.toContain(long)
  })

  it('reads the spool once a second, and not while a read is pending', async () => {
    startReplica()
    await pass(10 * SECOND)
    expect(shared.reads).toBe(11)
    let slowReads = 0
    const get = () => {
      slowReads++
      return new Promise<never>(() => {})
    }
    startReplica({ state: { get, put: async () => true, clockOffsetMs: () => 0 } })
    await pass(10 * SECOND)
    expect(slowReads).toBe(1)
  })

  it('does not read the spool after it is stopped', async () => {
    const { sharing, learn } = startReplica()
    await pass(1)
    sharing.stop()
    learn('60:error:key')
    await pass(10 * SECOND)
    expect([shared.reads, shared.writes]).toEqual([1, 0])
  })

  it('stores the limits of others again, without those that have ended or were learned by a wrong clock', async () => {
    const kept = limitOf({ project: OTHER_PROJECT })
    const ended = limitOf({ until: Date.now() - 1 })
    const wrong = limitOf({ category: 'session', until: Date.now() + 2 * DAY })
    shared.limits = [ended, wrong, 'no limit', kept]
    const replica = startReplica()
    await pass(1)
    expect(replica.held(['event', 'session'])).toEqual([])
    replica.learn('60:replay:key')
    await pass(1)
    expect(shared.limits).toEqual([
      limitOf({ category: 'replay', until: expect.any(Number) as unknown as number }),
      kept,
    ])
  })

  it('keeps the limits that several replicas learn at the same time', async () => {
    const replicas = [startReplica(), startReplica(), startReplica()]
    await pass(1)
    replicas.forEach((replica, n) => void replica.learn(`60:${['error', 'session', 'replay'][n]}:key`))
    await pass(1)
    expect(shared.limits).toHaveLength(3)
  })

  it('shares limits by the clock of the store', async () => {
    const wrong: LimitSharingDeps['state'] = {
      get: () => shared.get(),
      put: (...args) => shared.put(...args),
      clockOffsetMs: () => -2 * 60 * MINUTE,
    }
    const right = startReplica()
    startReplica({ state: wrong, aheadMs: 2 * 60 * MINUTE }).learn('60:error:key')
    await pass(2 * SECOND)
    expect(right.held(['event'])).toEqual(['event'])
    await pass(MINUTE)
    expect(right.held(['event'])).toEqual([])
  })
})
