/** State of the replay player after what the operator did. */

import { expect, it } from 'vitest'
import { INITIAL, reducePlayer } from '../../../../../../web/features/console/inbox/replay/use-replay.ts'

const LOADED = reducePlayer(INITIAL, { type: 'loaded', start: 0, duration: 60_000 })

it.each([
  ['continues in the middle', 30_000, 30_000],
  ['starts again at the end', 60_000, 0],
  ['starts again at an end that the player has rounded', 59_998, 0],
])('%s when it is played', (_, at, expected) => {
  const state = reducePlayer(reducePlayer(LOADED, { type: 'time', at, sequence: 0 }), { type: 'play' })
  expect(state).toMatchObject({ isPlaying: true, at: expected })
})
