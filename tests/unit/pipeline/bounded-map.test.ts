import { expect, it } from 'vitest'
import { BoundedMap } from '../../../tunnel/src/pipeline/bounded-map.ts'

it('BoundedMap forgets the entry that was set longest ago, not the one that was added first', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ])
})
