/** Points of the charts, as the events of the live stream continue them. */

import { expect, it } from 'vitest'
import type { Point } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { continuePoints, type LiveEvent } from '../../../../../web/features/console/monitor/use-snapshot.ts'

const MINUTE_MS = 60_000

const pointsAt = (...times: number[]) => times.map((time) => ({ time })) as Point[]
const eventOf = (time: number, history?: number[]) =>
  ({ overview: { point: { time } }, ...(history && { history: pointsAt(...history) }) }) as LiveEvent

it.each([
  ['the point of an event', [1, 2], eventOf(3), [1, 2, 3]],
  ['a history, and the point of its event', [1, 2], eventOf(9, [7, 8]), [7, 8, 9]],
  ['the point of an event without earlier points, from which the charts begin', [], eventOf(1, []), [1]],
  ['a point only once', [1, 2], eventOf(8, [7, 8]), [7, 8]],
  ['15 minutes', [1, MINUTE_MS], eventOf(15 * MINUTE_MS + 1), [MINUTE_MS, 15 * MINUTE_MS + 1]],
])('they have %s', (_, known, event, times) => {
  expect(continuePoints(pointsAt(...known), event)).toEqual(pointsAt(...times))
})
