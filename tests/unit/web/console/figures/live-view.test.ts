/** Events that keep the overview live. */

import { describe, expect, it } from 'vitest'
import type { FiguresPoint } from '../../../../../contract/figures.ts'
import {
  continueView,
  eventAfter,
  type LiveView,
} from '../../../../../web/features/console/figures/live-view.ts'
import { figuresOf, MINUTE, pointAt } from '../../../../support/web/figures.ts'

function viewOf(points: FiguresPoint[], toMinute = 3): LiveView {
  const { replicas: _, ...figures } = figuresOf(points, { to: toMinute * MINUTE })
  return { overview: {} as LiveView['overview'], range: '15m', figures }
}

const first = viewOf([pointAt(1, { received: 1 }), pointAt(2, { received: 2 })])

describe('eventAfter', () => {
  it('has all points at first, and then those from the first that has changed', () => {
    expect(eventAfter(undefined, first).figures?.points).toHaveLength(2)
    const grown = viewOf([pointAt(1, { received: 1 }), pointAt(2, { received: 3 }), pointAt(3)], 4)
    expect(eventAfter(first, grown).figures?.points.map(({ time }) => time)).toEqual([2 * MINUTE, 3 * MINUTE])
    expect(eventAfter(first, first).figures?.points).toEqual([])
  })
})

describe('continueView', () => {
  const { missing: _, ...empty } = viewOf([])

  it.each([
    ['a running minute that grew', viewOf([pointAt(1, { received: 1 }), pointAt(2, { received: 9 })])],
    ['a new minute', viewOf([pointAt(1, { received: 1 }), pointAt(2, { received: 2 }), pointAt(3)], 4)],
    ['a point that is gone, since its store does not respond', viewOf([pointAt(2, { received: 2 })])],
    [
      'a late change of an earlier minute',
      viewOf([pointAt(1, { received: 8 }), pointAt(2, { received: 2 })]),
    ],
    ['no change', first],
    ['no point', viewOf([])],
  ])('returns the view of the server after %s', (_, next) => {
    const { since, ...opened } = eventAfter(undefined, first)
    const shown = continueView(empty, { since, ...opened })
    expect(shown).toEqual(first)
    expect(continueView(shown, eventAfter(first, next))).toEqual(next)
  })

  it('drops points that are older than the range', () => {
    const later = viewOf([pointAt(2, { received: 2 }), pointAt(3)], 4)
    if (later.figures) later.figures.from = 2 * MINUTE
    expect(continueView(first, eventAfter(first, later))).toEqual(later)
  })

  it('keeps the last known figures while there are none, and says that they are missing', () => {
    const away: LiveView = { overview: first.overview, range: '15m', missing: 'Figures are missing.' }
    const shown = continueView(first, eventAfter(first, away))
    expect(shown).toEqual({ ...first, missing: 'Figures are missing.' })
    const back = viewOf([pointAt(2, { received: 7 })])
    expect(continueView(shown, eventAfter(away, back))).toEqual(back)
  })
})
