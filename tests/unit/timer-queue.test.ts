/** Waits of one length: each runs out once, in its turn, or is forgotten. */

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createTimeouts } from '../../tunnel/src/timer-queue.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('each wait runs out after its time, and not before', () => {
  const ended: string[] = []
  const { begin } = createTimeouts(100)
  begin(() => ended.push('first'))
  vi.advanceTimersByTime(60)
  begin(() => ended.push('second'))
  vi.advanceTimersByTime(39)
  expect(ended).toEqual([])
  vi.advanceTimersByTime(1)
  expect(ended).toEqual(['first'])
  vi.advanceTimersByTime(59)
  expect(ended).toEqual(['first'])
  vi.advanceTimersByTime(2)
  expect(ended).toEqual(['first', 'second'])
})

it('what is forgotten never runs out, whether it was the first, the last or between', () => {
  const ended: number[] = []
  const { begin, forget } = createTimeouts(100)
  const waits = [0, 1, 2, 3, 4].map((n) => begin(() => ended.push(n)))
  for (const n of [0, 2, 4]) forget(waits[n] as (typeof waits)[0])
  vi.advanceTimersByTime(101)
  expect(ended).toEqual([1, 3])
})

it('a wait that begins when another runs out has its whole time', () => {
  const ended: string[] = []
  const { begin } = createTimeouts(100)
  begin(() => {
    ended.push('first')
    begin(() => ended.push('next'))
  })
  vi.advanceTimersByTime(199)
  expect(ended).toEqual(['first'])
  vi.advanceTimersByTime(2)
  expect(ended).toEqual(['first', 'next'])
})

it('when nothing waits any more no timer is left', () => {
  const { begin, forget } = createTimeouts(100)
  for (let i = 0; i < 1000; i++) forget(begin(() => {}))
  vi.advanceTimersByTime(100)
  expect(vi.getTimerCount()).toBe(0)
})
