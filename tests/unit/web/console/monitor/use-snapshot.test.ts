/** Points of the console's charts after an event of the live stream. */

import { describe, expect, it } from 'vitest'
import type { Point } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { continuePoints, type LiveEvent } from '../../../../../web/features/console/monitor/use-snapshot.ts'

const MINUTE_MS = 60_000

const pointsAt = (...times: number[]) => times.map((time) => ({ time })) as Point[]
const gapAt = (time: number) => ({ time, isGap: true })
const eventOf = (point: object, history?: number[]) =>
  ({ overview: { point }, ...(history && { history: pointsAt(...history) }) }) as LiveEvent

describe('The points of the charts', () => {
  it.each([
    ['the known points and that of the event', [1, 2], eventOf({ time: 3 }), [1, 2, 3]],
    ['the history and the point of the event', [1, 2], eventOf({ time: 9 }, [7, 8]), [7, 8, 9]],
    ['the point of the event when the history is empty', [], eventOf({ time: 1 }, []), [1]],
    ['none before the first response', [], eventOf(gapAt(1), []), []],
    ['a gap after known points', [1, 2], eventOf(gapAt(3)), [1, 2, 3]],
    ['each point once', [1, 2], eventOf({ time: 8 }, [7, 8]), [7, 8]],
    [
      'only the last 15 minutes',
      [1, MINUTE_MS],
      eventOf({ time: 15 * MINUTE_MS + 1 }),
      [MINUTE_MS, 15 * MINUTE_MS + 1],
    ],
  ])('are %s', (_, known, event, times) => {
    expect(continuePoints(pointsAt(...known), event).map(({ time }) => time)).toEqual(times)
  })
})
