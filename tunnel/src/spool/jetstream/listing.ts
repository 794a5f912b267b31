/** List of entries, across the classes, in the order in which they were stored. */

import type { ListedEntry, PageQuery } from '../spool.ts'
import { CLASSES, encodeId, encodePlace, subjectsWithin, timeOfPlace } from './codec.ts'
import type { Consumers } from './consumers.ts'
import type { Messages, Walked } from './messages.ts'

type Found = Walked & { place: number }

const FIRST_WINDOW = 256 // sequences that are looked back at
const LAST_WINDOW = 8_192

export async function listEntries(
  messages: Messages,
  consumers: Consumers,
  { order, limit, after, ...which }: PageQuery,
): Promise<ListedEntry[]> {
  const find = order === 'oldest' ? findOldest : findNewest
  const found = await Promise.all(
    CLASSES.map((_, priority) =>
      find(messages, priority, subjectsWithin(priority, which), limit, after?.place),
    ),
  )
  const sign = order === 'oldest' ? 1 : -1
  return found
    .flatMap((ofClass, priority) =>
      ofClass.map(({ entry, seq, place }) => consumers.describe(entry, encodeId(priority, seq), place)),
    )
    .sort((a, b) => sign * (a.place - b.place))
    .slice(0, limit)
}

async function findOldest(
  messages: Messages,
  priority: number,
  subjects: string[],
  limit: number,
  after = 0,
): Promise<Found[]> {
  const found: Found[] = []
  const range = after > 0 ? { subjects, time: timeOfPlace(after) } : { subjects }
  for await (const walked of messages.walk(priority, range)) {
    const place = encodePlace(priority, walked.nanos)
    if (place > after) found.push({ ...walked, place })
    if (found.length === limit) break
  }
  return found
}

/** Streams are read forwards only: windows are read one before the other, larger ones where they hold little. */
async function findNewest(
  messages: Messages,
  priority: number,
  subjects: string[],
  limit: number,
  after = Infinity,
): Promise<Found[]> {
  const { first, end: last } = await messages.bounds(priority)
  let end = last
  if (after < Infinity) end = (await messages.seqAt(priority, timeOfPlace(after))) ?? last
  const found: Found[] = []
  for (let size = FIRST_WINDOW; end > first && found.length < limit; size = Math.min(LAST_WINDOW, size * 4)) {
    const start = Math.max(first, end - size)
    const window: Found[] = []
    for await (const walked of messages.walk(priority, { subjects, seq: start })) {
      const place = encodePlace(priority, walked.nanos)
      if (walked.seq >= end) break
      if (place < after) window.push({ ...walked, place })
    }
    found.push(...window.reverse())
    end = start
  }
  return found.slice(0, limit)
}
