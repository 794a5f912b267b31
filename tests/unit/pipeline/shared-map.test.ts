/** Map that replicas share, with a store in memory and an injected clock. */

import { beforeEach, describe, expect, it } from 'vitest'
import { type SharedEntry, SharedMap, type SharedMapDeps } from '../../../tunnel/src/pipeline/shared-state.ts'
import { MemoryValues } from '../../support/spool/memory-values.ts'

const MAX_MS = 60_000

describe('SharedMap', () => {
  let time: number
  let values: MemoryValues

  beforeEach(() => {
    time = 1_000_000
    values = new MemoryValues()
  })

  /** `aheadMs` is the difference of the replica's clock. */
  function open(deps: Partial<SharedMapDeps<number>> = {}, aheadMs = 0) {
    const state = {
      get: () => values.get(),
      put: (...args: [string, string, number]) => values.put(...args),
      clockOffsetMs: () => -aheadMs,
    }
    const now = () => time + aheadMs
    const map = new SharedMap({ state, key: 'a', maxMs: MAX_MS, now, ...deps })
    return {
      read: async () => valuesOf(await map.read()),
      merge: async (entries: Record<string, number>, ms = 1_000) => {
        const own = Object.entries(entries).map(
          ([name, value]) => [name, { value, until: now() + ms }] as const,
        )
        return valuesOf(await map.merge(new Map(own)))
      },
    }
  }

  const valuesOf = (entries: Map<string, SharedEntry<number>>) =>
    Object.fromEntries(Array.from(entries, ([name, { value }]) => [name, value]))

  it('returns the entries of all replicas', async () => {
    const [a, b] = [open(), open()]
    await a.merge({ x: 1 })
    expect(await b.merge({ y: 2 })).toEqual({ x: 1, y: 2 })
    expect(await a.read()).toEqual({ x: 1, y: 2 })
  })

  it('keeps the entries that replicas write at the same time', async () => {
    await Promise.all([open().merge({ x: 1 }), open().merge({ y: 2 }), open().merge({ z: 3 })])
    expect(await open().read()).toEqual({ x: 1, y: 2, z: 3 })
  })

  it('replaces an entry, or merges it', async () => {
    await open().merge({ x: 5 })
    expect(await open().merge({ x: 3 })).toEqual({ x: 3 })
    const larger = (a: SharedEntry<number>, b: SharedEntry<number>) => (a.value > b.value ? a : b)
    expect(await open({ merge: larger }).merge({ x: 1 })).toEqual({ x: 3 })
  })

  it('writes only changes', async () => {
    const a = open()
    await a.merge({ x: 1 })
    await a.merge({ x: 1 })
    await a.merge({})
    expect(values.writes).toBe(1)
  })

  it('forgets entries at their end, by the clock of the store', async () => {
    const [a, ahead] = [open(), open({}, 3_600_000)]
    await ahead.merge({ x: 1 })
    time += 999
    expect([await a.read(), await ahead.read()]).toEqual([{ x: 1 }, { x: 1 }])
    time += 1
    expect([await a.read(), await ahead.read()]).toEqual([{}, {}])
  })

  it('ignores entries that would last longer than any, as a wrong clock would write them', async () => {
    await open().merge({ x: 1 }, MAX_MS + 5_001)
    expect(await open().read()).toEqual({})
    await open().merge({ x: 1 }, MAX_MS + 5_000) // clocks of replicas differ by some seconds
    expect(await open().read()).toEqual({ x: 1 })
  })

  it('keeps the entries that end last of too many', async () => {
    const long = (n: number) => `${n} ${'x'.repeat(100_000)}`
    for (const n of [3, 1, 2]) await open().merge({ [long(n)]: n }, n * 1_000)
    expect(Object.values(await open().read())).toEqual([3, 2])
  })

  it.each([undefined, 'broken', 'null', '[["x",1,null]]'])(
    'begins anew when the value is %s',
    async (value) => {
      values.value = value
      expect(await open().merge({ y: 2 })).toEqual({ y: 2 })
    },
  )
})
