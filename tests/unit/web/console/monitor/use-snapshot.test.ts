/** Points of the charts, as the events of the live stream continue them. */

import { expect, it } from 'vitest'
import type { Point } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { continuePoints, type LiveEvent } from '../../../../../web/features/console/monitor/use-snapshot.ts'

const MINUTE_MS = 60_000

const pointsAt = (...times: number[]) => times.map((time) => ({ time })) as Point[]
const gapAt = (time: number) => ({ time, isGap: true })
const eventOf = (point: object, history?: number[]) =>
  ({ overview: { point }, ...(history && { history: pointsAt(...history) }) }) as LiveEvent

it.each([
  ['the point of an event', [1, 2], eventOf({ time: 3 }), [1, 2, 3]],
  ['a history, and the point of its event', [1, 2], eventOf({ time: 9 }, [7, 8]), [7, 8, 9]],
  [
    'the point of an event without earlier points, from which the charts begin',
    [],
    eventOf({ time: 1 }, []),
    [1],
  ],
  ['no point before the first response', [], eventOf(gapAt(1), []), []],
  ['the point of an event without a response, after others', [1, 2], eventOf(gapAt(3)), [1, 2, 3]],
  ['a point only once', [1, 2], eventOf({ time: 8 }, [7, 8]), [7, 8]],
  ['15 minutes', [1, MINUTE_MS], eventOf({ time: 15 * MINUTE_MS + 1 }), [MINUTE_MS, 15 * MINUTE_MS + 1]],
])('they have %s', (_, known, event, times) => {
  expect(continuePoints(pointsAt(...known), event).map(({ time }) => time)).toEqual(times)
})
