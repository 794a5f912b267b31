/** Sharing of Sentry's rate limits by replicas of one spool, with an injected clock. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { UpstreamLimits } from '../../../tunnel/src/policy/upstream-limits.ts'
import { createProjects } from '../../../tunnel/src/projects.ts'
import { LimitSharing, type LimitSharingDeps } from '../../../tunnel/src/spool/limit-sharing.ts'
import type { SharedLimit } from '../../../tunnel/src/spool/spool.ts'
import { envelopeWith, typesOf } from '../../support/read-envelope.ts'
import { OTHER_PROJECT, PROJECT } from '../../support/spool/entries.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

describe('LimitSharing', () => {
  let shared: Map<string, SharedLimit>
  let isFailing: boolean
  let reads: number
  let writes: number
  let started: LimitSharing[]

  const store: LimitSharingDeps['spool'] = {
    async limits() {
      reads++
      if (isFailing) throw new Error('no space left on device')
      return [...shared.values()]
    },
    async addLimits(limits) {
      writes++
      if (isFailing) throw new Error('no space left on device')
      for (const limit of limits) {
        const name = `${limit.project} ${limit.category}`
        if (limit.until > (shared.get(name)?.until ?? 0)) shared.set(name, limit)
      }
    },
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 7, 14, 12) })
    shared = new Map()
    isFailing = false
    reads = 0
    writes = 0
    started = []
  })

  afterEach(() => {
    for (const sharing of started) sharing.stop()
    vi.useRealTimers()
  })

  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  /** Starts a replica. `aheadMs` is the difference of its clock. */
  function startReplica({ spool = store, dsns = [PROJECT, OTHER_PROJECT], aheadMs = 0 } = {}) {
    const now = () => Date.now() + aheadMs
    const limits = new UpstreamLimits(now)
    const projects = createProjects(dsns.flatMap((text) => parseDsn(text) ?? []))
    const sharing = new LimitSharing({ spool, limits, projects, now })
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
    expect(writes).toBe(1)
  })

  it('writes a limit that each response extends a few times a minute, before it ends elsewhere', async () => {
    const [first, second] = [startReplica(), startReplica()]
    await pass(1)
    for (let seconds = 0; seconds < 300; seconds++) {
      first.learn('60:replay:key')
      await pass(SECOND)
      expect(second.held(['replay_event'])).toEqual(['replay_event'])
    }
    expect(writes).toBeLessThanOrEqual(20)
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
    isFailing = true
    first.learn('60:error:key')
    await pass(10 * SECOND)
    expect(first.held(['event'])).toEqual(['event'])
    expect(second.held(['event'])).toEqual([])
    isFailing = false
    await pass(2 * SECOND)
    expect(second.held(['event'])).toEqual(['event'])
  })

  it('shares its limits again when the spool has lost them', async () => {
    const first = startReplica()
    first.learn('60:error:key')
    await pass(1)
    shared.clear()
    await pass(SECOND)
    expect([...shared.values()]).toEqual([{ project: PROJECT, category: 'error', until: expect.any(Number) }])
  })

  it('ignores shared limits on unknown projects and categories', async () => {
    const until = Date.now() + MINUTE
    shared.set('1', { project: OTHER_PROJECT, category: 'error', until })
    shared.set('2', { project: PROJECT, category: 'invented', until })
    const { limits } = startReplica({ dsns: [PROJECT] })
    await pass(SECOND)
    expect(limits.inForce()).toEqual([])
    expect(writes).toBe(0)
  })

  it('ends a limit by the clock of each replica', async () => {
    const [first, behind] = [startReplica(), startReplica({ aheadMs: -10 * SECOND })]
    first.learn('60:error:key')
    await pass(MINUTE)
    shared.clear()
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
    expect(shared.size).toBe(500)
    expect([...shared.values()].map(({ project }) => project)).not.toContain(long)
  })

  it('reads the spool once a second, and not while a read is pending', async () => {
    startReplica()
    await pass(10 * SECOND)
    expect(reads).toBe(11)
    let slowReads = 0
    const limits = () => {
      slowReads++
      return new Promise<never>(() => {})
    }
    startReplica({ spool: { ...store, limits } })
    await pass(10 * SECOND)
    expect(slowReads).toBe(1)
  })

  it('does not read the spool after it is stopped', async () => {
    const { sharing, learn } = startReplica()
    await pass(1)
    sharing.stop()
    learn('60:error:key')
    await pass(10 * SECOND)
    expect([reads, writes]).toEqual([1, 0])
  })
})
