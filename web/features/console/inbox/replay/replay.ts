/** Replay of an inbox: its segments in order, and the errors during it. */

import type { InboxEntry } from 'contract/inbox'

export type Replay = {
  /** Envelopes that contain the segments, from the first one that is there. */
  segments: { envelope: string; number: number }[]
  /** Numbers of segments that are not in the inbox, before or between those that are. */
  missing: number[]
  errors: ReplayError[]
}

/** Error during a replay; `time` in milliseconds since 1970. */
type ReplayError = { envelope: string; title: string; time: number }

const MAX_ERRORS = 50
const MAX_MISSING = 1_000

export function modelReplay(entries: readonly InboxEntry[]): Replay {
  const byNumber = new Map<number, string>()
  for (const { id, segment } of entries)
    if (segment !== null && segment >= 0 && !byNumber.has(segment)) byNumber.set(segment, id)
  const segments = [...byNumber].map(([number, envelope]) => ({ number, envelope }))
  segments.sort((a, b) => a.number - b.number)
  const errors = entries.flatMap(({ id, title, is_error: isError, raised }) =>
    isError && raised !== null ? [{ envelope: id, title, time: raised }] : [],
  )
  return {
    segments,
    missing: missingIn(byNumber, segments.at(-1)?.number ?? -1),
    errors: errors.sort((a, b) => a.time - b.time).slice(0, MAX_ERRORS),
  }
}

/** Senders choose the numbers, so the last one may be large. */
function missingIn(numbers: ReadonlyMap<number, unknown>, last: number): number[] {
  const all = Array.from({ length: Math.min(last, MAX_MISSING) }, (_, number) => number)
  return all.filter((number) => !numbers.has(number))
}

const ID = /^[\da-f]{32}$/

/** Returns the ID of the replay in the payload of a segment or of an event. */
export function replayIdIn(json: unknown): string | undefined {
  const { replay_id: own, tags, contexts } = Object(json)
  const { replay, feedback } = Object(contexts)
  const ids = [own, Object(tags).replayId, Object(replay).replay_id, Object(feedback).replay_id]
  return ids.find((id) => typeof id === 'string' && ID.test(id))
}
