/** Lost envelopes, and those of the last minutes. */

import { describe, expect, it } from 'vitest'
import { lossesOf, recentLosses, sumLosses } from '../../../contract/situation/losses.ts'
import { figuresOf, pointAt } from '../../support/web/figures.ts'

const NO_LOSSES = { expired: 0, evicted: 0, unavailable: 0, vanished: 0 }

describe('Lost envelopes', () => {
  it('are those that expired, made room in the spool, or were lost by its store', () => {
    const final_outcomes = { expired: 3, evicted: 2, delivered: 9, purged: 1, declined: 1 }
    const losses = lossesOf(pointAt(1, { final_outcomes, vanished: 4 }))
    expect(losses).toEqual({ expired: 3, evicted: 2, unavailable: 0, vanished: 4 })
    expect(sumLosses(losses)).toBe(9)
  })

  it.each(['spool-full', 'spool-share', 'spool-unwritable', 'tunnel-failed', 'tunnel-busy'])(
    'are those that got 503 with %s, unless their senders keep them',
    (reason) => {
      const outcomes = {
        ...{ [`rejected:${reason}`]: 2, 'rejected:dsn-unknown': 5 },
        [`deferred:${reason}`]: 7,
      }
      expect(lossesOf(pointAt(1, { outcomes }))).toEqual({ ...NO_LOSSES, unavailable: 2 })
    },
  )
})

it('recentLosses are those of the last two complete minutes and of the running one', () => {
  const lost = [7, 8, 9, 10].map((minute) => pointAt(minute, { vanished: 10 ** (minute - 7) }))
  expect(recentLosses(figuresOf(lost))).toMatchObject({ ...NO_LOSSES, vanished: 1_110 })
  expect(recentLosses(figuresOf([]))).toMatchObject(NO_LOSSES)
  const full = [8, 9, 10].map((minute) =>
    pointAt(minute, {
      outcomes: { 'rejected:spool-full': 60, 'rejected:spool-share': 60 },
      final_outcomes: { evicted: 60 },
    }),
  )
  expect(recentLosses(figuresOf(full))).toMatchObject({ full_rate: 2.4 }) // 360 in 150 s
})
