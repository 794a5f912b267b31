/** Turns of large bodies: four at a time, in order. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Turns } from '../../../tunnel/src/body/turns.ts'

describe('Turns', () => {
  let begun: number[]
  let ends: (() => void)[]

  beforeEach(() => {
    vi.useFakeTimers()
    begun = []
    const turns = new Turns()
    ends = Array.from({ length: 7 }, (_, n) => turns.take(() => begun.push(n)))
  })

  afterEach(() => {
    for (const end of ends) end()
    vi.useRealTimers()
  })

  it('run four at a time, and start the next one in order when one ends', () => {
    expect(begun).toEqual([0, 1, 2, 3])
    ends[2]?.()
    ends[0]?.()
    expect(begun).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('are released only once when they are ended twice', () => {
    ends[0]?.()
    ends[0]?.()
    expect(begun).toEqual([0, 1, 2, 3, 4])
  })

  it('skip an entry that has left the queue', () => {
    ends[4]?.()
    ends[0]?.()
    expect(begun).toEqual([0, 1, 2, 3, 5])
  })

  it('end after 1 s when the sender has stopped sending', () => {
    vi.advanceTimersByTime(1_000)
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6])
  })
})
