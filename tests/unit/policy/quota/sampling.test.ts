/** Reading of replays, for their price and their importance. */

import { describe, expect, it, vi } from 'vitest'
import type { Item } from '../../../../tunnel/src/envelope/items.ts'
import { hasReplayError, quotaQuantitiesOf } from '../../../../tunnel/src/policy/quota/sampling.ts'
import { envelopeOf } from '../../../support/envelopes.ts'
import { readEnvelope } from '../../../support/read-envelope.ts'

const replayOf = (payload: object) =>
  readEnvelope(envelopeOf({}, [{ header: { type: 'replay_event' }, payload: JSON.stringify(payload) }]))

describe('A replay event', () => {
  it('of too many values is not parsed, and counts as a first segment without an error', () => {
    const urls = Array.from({ length: 60_000 }, () => 1)
    const replay = replayOf({ segment_id: 1, error_ids: ['a'], urls })
    expect(hasReplayError(replay)).toBe(false)
    expect(replay.items.flatMap(quotaQuantitiesOf)).toEqual([{ category: 'replay', quantity: 1 }])
  })

  it('is parsed once', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const replay = replayOf({ segment_id: 1, error_ids: ['a'] })
    parse.mockClear()
    const prices = [1, 2].flatMap(() => replay.items.flatMap((item: Item) => quotaQuantitiesOf(item)))
    const errors = [1, 2].map(() => hasReplayError(replay))
    const calls = parse.mock.calls.length
    parse.mockRestore()
    expect(prices).toEqual(Array(2).fill({ category: 'replay', quantity: 0 }))
    expect([errors, calls]).toEqual([[true, true], 1])
  })
})
