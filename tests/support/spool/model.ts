/** Spool compared with a simple model in memory after each of a random sequence of calls. */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type {
  Lease,
  ProjectDemand,
  Spool,
  SpoolBounds,
  SpoolEntry,
} from '../../../tunnel/src/pipeline/spool.ts'
import { inOne, LONG_MS, OTHER_PROJECT, PROJECT, spoolEntryOf } from './entries.ts'
import type { OpenStore, Store } from './guarantees.ts'
import { keysOf } from './operations.ts'

const BOUNDS: SpoolBounds = { bytes: 30_000, addressShare: 1, projectShare: 1 }
const RUNS = 10
const CATEGORIES = ['error', 'session', 'transaction', 'replay']
const PROJECTS = [PROJECT, OTHER_PROJECT]

type Step =
  | { act: 'put'; nth: number; category: string; project: string; bytes: number; leased: boolean }
  | { act: 'take'; limit: number; project: string | undefined; rateLimitedCategories: string[] }
  | { act: 'finish' | 'postpone' | 'release' | 'expire' | 'purge' | 'hasten'; nth: number }

const nth = fc.nat({ max: 30 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant('put' as const),
      nth,
      category: fc.constantFrom(...CATEGORIES),
      project: fc.constantFrom(...PROJECTS),
      bytes: fc.integer({ min: 10, max: 4_000 }),
      leased: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('take' as const),
      limit: fc.integer({ min: 1, max: 6 }),
      project: fc.option(fc.constantFrom(...PROJECTS), { nil: undefined }),
      rateLimitedCategories: fc.subarray(CATEGORIES, { maxLength: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constantFrom(...(['finish', 'postpone', 'release', 'expire', 'purge', 'hasten'] as const)),
      nth,
    }),
  },
)

export function modelPromise(open: OpenStore): void {
  it('keeps the same entries as a simple model, for random sequences of calls', { timeout: 300_000 }, () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), async (steps) => {
        await using store = await open(BOUNDS)
        const compared = compare([await store.spool(), await store.spool()], store.weigh)
        for (const each of steps) await compared(each)
      }),
      { numRuns: RUNS },
    ),
  )
}

type State = 'due' | 'leased' | 'later'
type Kept = { entry: SpoolEntry; weight: number; state: State; lease?: Lease; fresh: boolean }

/** Applies each call to the replicas in turn, and compares the result with the model. */
function compare(replicas: readonly Spool[], weigh: Store['weigh']): (step: Step) => Promise<void> {
  const model = new Map<string, Kept>()
  let steps = 0
  return async function compared(step) {
    const spool = replicas[steps++ % replicas.length]
    if (!spool) throw new Error('no replica')
    if (step.act === 'put') await put(spool, model, weigh, step)
    else if (step.act === 'take') await take(spool, model, step)
    else if (step.act === 'expire') await expire(spool, model, step.nth)
    else if (step.act === 'purge') await purge(spool, model, step.nth)
    else if (step.act === 'hasten') await retry(spool, model, step.nth)
    else await endLease(spool, model, step.act, step.nth)
    await expect.poll(() => totalsOf(spool, model), { interval: 5 }).toEqual(totalsIn(model))
  }
}

async function put(
  spool: Spool,
  model: Map<string, Kept>,
  weigh: Store['weigh'],
  step: Step & { act: 'put' },
): Promise<void> {
  const { project, category } = step
  const body = Buffer.alloc(step.bytes, `${step.nth} `)
  const entry = await spoolEntryOf(body, { project, category })
  const weight = weigh(entry)
  const result = await spool.put(entry, inOne(body), step.leased ? LONG_MS : 0)
  const known = model.has(entry.key)
  expect(result.kind === 'known').toBe(known)
  if (result.kind === 'full') expect(free(model) + weightOf(lessImportant(model, entry))).toBeLessThan(weight)
  if (result.kind !== 'stored') return
  expectFairEviction(model, entry, weight, result.evicted)
  for (const { key } of result.evicted) model.delete(key)
  const kept: Kept = { entry, weight, state: step.leased ? 'leased' : 'due', fresh: true }
  model.set(entry.key, step.leased ? { ...kept, lease: result.lease } : kept)
  expect(sizeOf([...model.values()])).toBeLessThanOrEqual(BOUNDS.bytes)
}

/** Expects evictions only where space is short: no leased entry, the least important and the oldest first. */
function expectFairEviction(
  model: Map<string, Kept>,
  newcomer: SpoolEntry,
  weight: number,
  evicted: readonly SpoolEntry[],
): void {
  if (free(model) >= weight) expect(evicted).toEqual([])
  const gone = new Set(keysOf(evicted))
  const left = lessImportant(model, newcomer).filter(({ entry }) => !gone.has(entry.key))
  for (const victim of evicted) {
    expect(model.has(victim.key)).toBe(true)
    expect(victim.priority).toBeGreaterThan(newcomer.priority)
    for (const spared of left) expect(isBefore(spared.entry, victim)).toBe(false)
  }
}

function isBefore(a: SpoolEntry, b: SpoolEntry): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.received < b.received)
}

function lessImportant(model: Map<string, Kept>, { priority }: SpoolEntry): Kept[] {
  return [...model.values()].filter(({ entry, state }) => state !== 'leased' && entry.priority > priority)
}

async function take(spool: Spool, model: Map<string, Kept>, step: Step & { act: 'take' }): Promise<void> {
  const wanted: ProjectDemand[] = PROJECTS.filter((project) => project !== step.project).map((project) => ({
    project,
    rateLimitedCategories: step.rateLimitedCategories,
  }))
  const dueNow = [...model.values()].filter(
    ({ entry, state }) => state === 'due' && wanted.some((each) => wants(each, entry)),
  )
  const taken = await spool.take(step.limit, LONG_MS, wanted)
  for (const { key } of taken) expect(keysOf(dueNow.map(({ entry }) => entry))).toContain(key)
  expect(taken).toHaveLength(Math.min(step.limit, dueNow.length))
  const keys = new Set(keysOf(taken))
  expect(keys.size).toBe(taken.length)
  expectOrder(
    taken,
    dueNow.filter(({ entry }) => !keys.has(entry.key)),
    model,
  )
  for (const lease of taken) update(model, lease.key, { state: 'leased', lease, fresh: false })
}

function wants({ project, rateLimitedCategories: heldBack }: ProjectDemand, entry: SpoolEntry): boolean {
  return project === entry.project && !heldBack.includes(entry.category)
}

/** Sorts by priority; within a project and category, entries that were never leased are sorted by age. */
function expectOrder(taken: readonly Lease[], left: readonly Kept[], model: Map<string, Kept>): void {
  const ranks = taken.map(({ priority }) => priority)
  expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
  for (const { entry } of left) expect(entry.priority).toBeGreaterThanOrEqual(ranks.at(-1) ?? 0)
  const fresh = taken.filter(({ key }) => model.get(key)?.fresh)
  for (const [, partition] of Map.groupBy(fresh, ({ project, category }) => `${project} ${category}`))
    expect(keysOf(partition)).toEqual(keysOf(partition.toSorted((a, b) => a.received - b.received)))
}

async function endLease(
  spool: Spool,
  model: Map<string, Kept>,
  act: 'finish' | 'postpone' | 'release',
  nth: number,
): Promise<void> {
  const leased = [...model.values()].flatMap(({ lease, state }) =>
    lease && state === 'leased' ? [lease] : [],
  )
  const lease = leased[nth % Math.max(1, leased.length)]
  if (!lease) return
  if (act === 'finish') {
    await spool.finish(lease)
    model.delete(lease.key)
    return
  }
  await spool.postpone(lease, act === 'release' ? Date.now() - 1 : Date.now() + LONG_MS)
  update(model, lease.key, { state: act === 'release' ? 'due' : 'later', fresh: false })
}

/** Expires old entries. Leased ones may stay or go, as long as the spool reports them. */
async function expire(spool: Spool, model: Map<string, Kept>, nth: number): Promise<void> {
  const kept = [...model.values()]
  const before = kept[nth % Math.max(1, kept.length)]?.entry.received ?? Date.now()
  const old = kept.filter(({ entry }) => entry.received < before)
  const told = keysOf(await spool.expire(before))
  expect(keysOf(old.map(({ entry }) => entry))).toEqual(expect.arrayContaining(told))
  const mustGo = old.filter(({ state }) => state !== 'leased')
  expect(told).toEqual(expect.arrayContaining(keysOf(mustGo.map(({ entry }) => entry))))
  for (const key of told) model.delete(key)
}

/** Returns all entries of one project and category, leased or not. */
async function purge(spool: Spool, model: Map<string, Kept>, nth: number): Promise<void> {
  const same = likeNth(model, nth)
  const [first] = same
  if (!first) return
  const { project, category } = first.entry
  const told = keysOf(await spool.purge({ projects: [project], category }))
  expect(told.sort()).toEqual(keysOf(same.map(({ entry }) => entry)).sort())
  for (const key of told) model.delete(key)
}

/** Makes the postponed entries of one project and category due. */
async function retry(spool: Spool, model: Map<string, Kept>, nth: number): Promise<void> {
  const same = likeNth(model, nth)
  const [first] = same
  if (!first) return
  const { project, category } = first.entry
  const later = same.filter(({ state }) => state === 'later')
  expect(await spool.retry({ projects: [project], category })).toBe(later.length)
  for (const { entry } of later) update(model, entry.key, { state: 'due' })
}

function likeNth(model: Map<string, Kept>, nth: number): Kept[] {
  const kept = [...model.values()]
  const first = kept[nth % Math.max(1, kept.length)]?.entry
  return kept.filter(({ entry }) => entry.project === first?.project && entry.category === first.category)
}

function update(model: Map<string, Kept>, key: string, change: Partial<Kept>): void {
  const kept = model.get(key)
  if (kept) model.set(key, { ...kept, ...change })
}

function free(model: Map<string, Kept>): number {
  return BOUNDS.bytes - weightOf([...model.values()])
}

function sizeOf(kept: readonly Kept[]): number {
  return kept.reduce((sum, { entry }) => sum + entry.bytes, 0)
}

function weightOf(kept: readonly Kept[]): number {
  return kept.reduce((sum, { weight }) => sum + weight, 0)
}

function totalsIn(model: Map<string, Kept>) {
  const all = [...model.values()]
  const partitions = Map.groupBy(all, ({ entry }) => `${entry.project} ${entry.category}`)
  return {
    envelopes: all.length,
    bytes: 'more than the bodies, and no more than they weigh',
    oldest: all.length > 0 ? Math.min(...all.map(({ entry }) => entry.received)) : undefined,
    partitions: Object.fromEntries(
      [...partitions].map(([partition, its]) => [partition, [its.length, weightOf(its)]]),
    ),
  }
}

async function totalsOf(spool: Spool, model: Map<string, Kept>) {
  const { partitions: byProject, oldest, envelopes, bytes } = await spool.totals()
  const all = [...model.values()]
  const right = bytes >= sizeOf(all) && bytes <= weightOf(all)
  const partitions = byProject.map(({ project, category, envelopes, bytes }) => [
    ...[`${project} ${category}`, [envelopes, bytes]],
  ])
  return {
    envelopes,
    bytes: right ? 'more than the bodies, and no more than they weigh' : bytes,
    oldest,
    partitions: Object.fromEntries(partitions),
  }
}
