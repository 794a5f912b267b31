/** A spool compared, step by step, with a plain model in memory: any sequence of acts, and always the same waits. */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Lease, Spool, SpoolBounds, Waiting, Wanted } from '../../../tunnel/src/spool/spool.ts'
import { inOne, LONG_MS, OTHER_PROJECT, PROJECT, waitingOf } from './entries.ts'
import { keysOf } from './operations.ts'
import type { OpenStore, Store } from './promises.ts'

const BOUNDS: SpoolBounds = { bytes: 30_000, addressShare: 1, projectShare: 1 }
const RUNS = 20
const CATEGORIES = ['error', 'session', 'transaction', 'replay']
const PROJECTS = [PROJECT, OTHER_PROJECT]

type Step =
  | { act: 'put'; nth: number; category: string; project: string; bytes: number; leased: boolean }
  | { act: 'take'; limit: number; project: string | undefined; heldBack: string[] }
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
      heldBack: fc.subarray(CATEGORIES, { maxLength: 2 }),
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
  it('waits for exactly what a plain model waits for, whatever is done to it', { timeout: 120_000 }, () =>
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
type Kept = { waiting: Waiting; weight: number; state: State; lease?: Lease; fresh: boolean }

/** Does each step to the replicas in turn, and expects of the answer what the model knows. */
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
    else if (step.act === 'hasten') await hasten(spool, model, step.nth)
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
  const waiting = await waitingOf(body, { project, category })
  const weight = weigh(waiting)
  const result = await spool.put(waiting, inOne(body), step.leased ? LONG_MS : 0)
  const known = model.has(waiting.key)
  expect(result.kind === 'known').toBe(known)
  if (result.kind === 'full')
    expect(free(model) + weightOf(lessImportant(model, waiting))).toBeLessThan(weight)
  if (result.kind !== 'stored') return
  expectFairEviction(model, waiting, weight, result.evicted)
  for (const { key } of result.evicted) model.delete(key)
  const kept: Kept = { waiting, weight, state: step.leased ? 'leased' : 'due', fresh: true }
  model.set(waiting.key, step.leased ? { ...kept, lease: result.lease } : kept)
  expect(sizeOf([...model.values()])).toBeLessThanOrEqual(BOUNDS.bytes)
}

/** What is not under way makes room, by rank and age, and only when room is short. */
function expectFairEviction(
  model: Map<string, Kept>,
  newcomer: Waiting,
  weight: number,
  evicted: readonly Waiting[],
): void {
  if (free(model) >= weight) expect(evicted).toEqual([])
  const gone = new Set(keysOf(evicted))
  const left = lessImportant(model, newcomer).filter(({ waiting }) => !gone.has(waiting.key))
  for (const victim of evicted) {
    expect(model.has(victim.key)).toBe(true)
    expect(victim.priority).toBeGreaterThan(newcomer.priority)
    for (const spared of left) expect(isBefore(spared.waiting, victim)).toBe(false)
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.received < b.received)
}

function lessImportant(model: Map<string, Kept>, { priority }: Waiting): Kept[] {
  return [...model.values()].filter(({ waiting, state }) => state !== 'leased' && waiting.priority > priority)
}

async function take(spool: Spool, model: Map<string, Kept>, step: Step & { act: 'take' }): Promise<void> {
  const wanted: Wanted[] = PROJECTS.filter((project) => project !== step.project).map((project) => ({
    project,
    heldBack: step.heldBack,
  }))
  const dueNow = [...model.values()].filter(
    ({ waiting, state }) => state === 'due' && wanted.some((each) => wants(each, waiting)),
  )
  const taken = await spool.take(step.limit, LONG_MS, wanted)
  for (const { key } of taken) expect(keysOf(dueNow.map(({ waiting }) => waiting))).toContain(key)
  expect(taken).toHaveLength(Math.min(step.limit, dueNow.length))
  const keys = new Set(keysOf(taken))
  expect(keys.size).toBe(taken.length)
  expectOrder(
    taken,
    dueNow.filter(({ waiting }) => !keys.has(waiting.key)),
    model,
  )
  for (const lease of taken) update(model, lease.key, { state: 'leased', lease, fresh: false })
}

function wants({ project, heldBack }: Wanted, waiting: Waiting): boolean {
  return project === waiting.project && !heldBack.includes(waiting.category)
}

/** By rank; of one project and category those that were never taken by age. */
function expectOrder(taken: readonly Lease[], left: readonly Kept[], model: Map<string, Kept>): void {
  const ranks = taken.map(({ priority }) => priority)
  expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
  for (const { waiting } of left) expect(waiting.priority).toBeGreaterThanOrEqual(ranks.at(-1) ?? 0)
  const fresh = taken.filter(({ key }) => model.get(key)?.fresh)
  for (const [, lane] of Map.groupBy(fresh, ({ project, category }) => `${project} ${category}`))
    expect(keysOf(lane)).toEqual(keysOf(lane.toSorted((a, b) => a.received - b.received)))
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

/** Whether what is under way goes too is the spool's own affair, as long as it tells. */
async function expire(spool: Spool, model: Map<string, Kept>, nth: number): Promise<void> {
  const kept = [...model.values()]
  const before = kept[nth % Math.max(1, kept.length)]?.waiting.received ?? Date.now()
  const old = kept.filter(({ waiting }) => waiting.received < before)
  const told = keysOf(await spool.expire(before))
  expect(keysOf(old.map(({ waiting }) => waiting))).toEqual(expect.arrayContaining(told))
  const mustGo = old.filter(({ state }) => state !== 'leased')
  expect(told).toEqual(expect.arrayContaining(keysOf(mustGo.map(({ waiting }) => waiting))))
  for (const key of told) model.delete(key)
}

/** All of one project and category, under way or not. */
async function purge(spool: Spool, model: Map<string, Kept>, nth: number): Promise<void> {
  const same = likeNth(model, nth)
  const [first] = same
  if (!first) return
  const { project, category } = first.waiting
  const told = keysOf(await spool.purge({ projects: [project], category }))
  expect(told.sort()).toEqual(keysOf(same.map(({ waiting }) => waiting)).sort())
  for (const key of told) model.delete(key)
}

/** What was put off of one project and category is due, and nothing else is. */
async function hasten(spool: Spool, model: Map<string, Kept>, nth: number): Promise<void> {
  const same = likeNth(model, nth)
  const [first] = same
  if (!first) return
  const { project, category } = first.waiting
  const later = same.filter(({ state }) => state === 'later')
  expect(await spool.hasten({ projects: [project], category })).toBe(later.length)
  for (const { waiting } of later) update(model, waiting.key, { state: 'due' })
}

function likeNth(model: Map<string, Kept>, nth: number): Kept[] {
  const kept = [...model.values()]
  const first = kept[nth % Math.max(1, kept.length)]?.waiting
  return kept.filter(
    ({ waiting }) => waiting.project === first?.project && waiting.category === first.category,
  )
}

function update(model: Map<string, Kept>, key: string, change: Partial<Kept>): void {
  const kept = model.get(key)
  if (kept) model.set(key, { ...kept, ...change })
}

function free(model: Map<string, Kept>): number {
  return BOUNDS.bytes - weightOf([...model.values()])
}

function sizeOf(kept: readonly Kept[]): number {
  return kept.reduce((sum, { waiting }) => sum + waiting.bytes, 0)
}

function weightOf(kept: readonly Kept[]): number {
  return kept.reduce((sum, { weight }) => sum + weight, 0)
}

function totalsIn(model: Map<string, Kept>) {
  const all = [...model.values()]
  const lanes = Map.groupBy(all, ({ waiting }) => `${waiting.project} ${waiting.category}`)
  return {
    envelopes: all.length,
    bytes: 'more than the bodies, and no more than they weigh',
    oldest: all.length > 0 ? Math.min(...all.map(({ waiting }) => waiting.received)) : undefined,
    lanes: Object.fromEntries([...lanes].map(([lane, its]) => [lane, [its.length, weightOf(its)]])),
  }
}

async function totalsOf(spool: Spool, model: Map<string, Kept>) {
  const { byProject, oldest, envelopes, bytes } = await spool.totals()
  const all = [...model.values()]
  const right = bytes >= sizeOf(all) && bytes <= weightOf(all)
  const lanes = byProject.map(({ project, category, envelopes, bytes }) => [
    ...[`${project} ${category}`, [envelopes, bytes]],
  ])
  return {
    envelopes,
    bytes: right ? 'more than the bodies, and no more than they weigh' : bytes,
    oldest,
    lanes: Object.fromEntries(lanes),
  }
}
