/** Axes and lines of charts. */

import { describe, expect, it, vi } from 'vitest'
import { decadesOf, pathOf, timeTicks, valueAxis } from '../../../../../web/features/console/figures/plot.ts'
import { formatTimeTick } from '../../../../../web/features/console/figures/range.ts'

it.each([
  [
    [2.5, 250],
    [1, 1_000],
  ],
  [
    [5, 10_000],
    [1, 10_000],
  ],
  [[0.4], [0.1, 1]],
  [[10], [10, 100]],
  [[], [1, 10]],
])('the axis of response times of %j ms has whole powers of ten', (values, expected) => {
  expect(decadesOf(values)).toEqual(expected)
})

describe('The axis of counts', () => {
  it.each([
    [0, [0, 1]],
    [1, [0, 1]],
    [3, [0, 1, 2, 3]],
    [4, [0, 2, 4]],
    [30, [0, 10, 20, 30]],
    [87, [0, 50]],
    [1_234, [0, 500, 1_000]],
  ])('up to %s has few whole numbers, from zero', (max, expected) => {
    const { ticks, yOf } = valueAxis('counts', [{ label: 'a', tone: 'good', values: [null, max] }])
    expect(ticks.map(({ value }) => value)).toEqual(expected)
    expect(yOf(0)).toBe(100)
    expect(yOf(max)).toBeGreaterThan(0)
  })
})

const MINUTE = 60_000
const spans = [0, 1, 2, 3].map((minute) => ({ time: minute * MINUTE, end: (minute + 1) * MINUTE }))
const yOf = (value: number) => 100 - value
const line = (values: (number | null)[]) => ({ label: 'a', tone: 'good' as const, values })

describe('The drawing of a line', () => {
  it('has a step for each count, a gap where nothing was counted, and a column without neighbours', () => {
    expect(pathOf('counts', line([4, 0, null, 8]), spans, yOf)).toBe(
      'M0 96H250L250 100H500M750 100V92H1000V100',
    )
  })

  it('has the durations at the ends of their spans, and a level line for one without neighbours', () => {
    expect(pathOf('durations', line([4, 5, null, 8]), spans, yOf)).toBe('M250 96L500 95M750 92H1000')
  })
})

describe('The ticks of the time axis', () => {
  const HOUR = 60 * MINUTE
  const from = new Date(2026, 10, 22, 9, 7).getTime()
  it.each([
    [15 * MINUTE, ['09:08', '09:10', '09:12', '09:14', '09:16', '09:18', '09:20', '09:22']],
    [HOUR, ['09:10', '09:20', '09:30', '09:40', '09:50', '10:00']],
    [24 * HOUR, ['12:00', '15:00', '18:00', '21:00', 'Mon 23 Nov', '03:00', '06:00', '09:00']],
    [48 * HOUR, ['Mon 23 Nov', 'Tue 24 Nov']],
  ])('are at round times of the reader within %s ms', (ms, expected) => {
    expect(timeTicks(from, from + ms).map(({ value }) => formatTimeTick(value))).toEqual(expected)
  })

  it('are midnights also in the week after a change of the clock', () => {
    vi.stubEnv('TZ', 'Europe/Berlin')
    const to = new Date(2026, 9, 28, 12).getTime()
    const days = timeTicks(to - 7 * 24 * HOUR, to).map(({ value }) => new Date(value))
    expect(days.map((day) => day.getDate())).toEqual([22, 23, 24, 25, 26, 27, 28])
    expect(days.filter((day) => day.getHours() !== 0)).toEqual([])
    vi.unstubAllEnvs()
  })
})
