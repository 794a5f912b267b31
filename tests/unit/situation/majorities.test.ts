/** Results that most reports of the last minutes share. */

import { describe, expect, it } from 'vitest'
import type { FiguresPoint } from '../../../contract/figures.ts'
import {
  findMajority,
  isDeclined,
  isTurnedAway,
  limitedErrors,
} from '../../../contract/situation/majorities.ts'
import { figuresOf, MINUTE, pointAt } from '../../support/web/figures.ts'

const at = (minute: number, outcomes: Record<string, number>, parts: Partial<FiguresPoint> = {}) =>
  pointAt(minute, { outcomes, ...parts })
const rejected = (...points: FiguresPoint[]) => findMajority(figuresOf(points), isTurnedAway)

describe('The majority', () => {
  it('begins with the first minute in a row in which most reports ended so, across quiet minutes', () => {
    expect(
      rejected(
        at(1, { delivered: 50, 'rejected:dsn-unknown': 9 }),
        at(3, { delivered: 2, 'rejected:dsn-unknown': 5, 'rejected:origin-foreign': 1 }),
        at(4, {}),
        at(9, { 'rejected:dsn-unknown': 4 }),
      ),
    ).toEqual({ since: 3 * MINUTE, count: 10, total: 12, result: 'rejected:dsn-unknown' })
  })

  it('ends with the first minute in which most reports end otherwise', () => {
    expect(
      rejected(at(8, { 'rejected:dsn-unknown': 90 }), at(9, { delivered: 2, 'rejected:dsn-unknown': 1 })),
    ).toBeUndefined()
  })

  it('is not half of the reports, and not fewer than five', () => {
    expect(rejected(at(9, { delivered: 5, 'rejected:dsn-unknown': 5 }))).toBeUndefined()
    expect(rejected(at(9, { 'rejected:dsn-unknown': 4 }))).toBeUndefined()
    expect(rejected()).toBeUndefined()
  })

  it('of broken envelopes is at least 20: strangers send some', () => {
    expect(rejected(at(9, { 'rejected:not-an-envelope': 19 }))).toBeUndefined()
    expect(rejected(at(9, { 'rejected:not-an-envelope': 20 }))).toMatchObject({ count: 20 })
  })

  it('is none of losses, which are a problem of their own, but of the limits of the tunnel', () => {
    expect(rejected(at(9, { 'rejected:spool-full': 90 }))).toBeUndefined()
    expect(rejected(at(9, { 'rate_limited:throttled': 9 }))).toMatchObject({
      result: 'rate_limited:throttled',
    })
    expect(rejected(at(9, { 'rate_limited:limited': 90 }))).toBeUndefined()
  })

  it('counts spooled envelopes at their end', () => {
    const figures = figuresOf([at(9, { spooled: 90, declined: 1 }, { final_outcomes: { declined: 6 } })])
    expect(findMajority(figures, isDeclined)).toEqual({
      ...{ since: 9 * MINUTE, count: 7, total: 7, result: 'declined' },
    })
    const delivered = figuresOf([at(9, { declined: 6 }, { final_outcomes: { delivered: 6 } })])
    expect(findMajority(delivered, isDeclined)).toBeUndefined()
  })
})

describe('limitedErrors', () => {
  const items = (minute: number, counts: Record<string, number>) => pointAt(minute, { items: counts })

  it('counts errors that rate limits of Sentry dropped, from the first minute in a row in which they did', () => {
    const points = [
      items(1, { 'event:limited': 3 }),
      items(2, { 'event:delivered': 3 }),
      items(3, { 'event:rate_limited': 1, 'event:delivered': 2 }),
      items(5, { 'session:limited': 7 }),
      items(6, { 'event:limited': 4 }),
    ]
    expect(limitedErrors(figuresOf(points))).toEqual({ since: 3 * MINUTE, count: 5 })
    expect(limitedErrors(figuresOf(points.slice(0, 2)))).toBeUndefined()
  })
})
