/** List of entries, across the classes, in the order in which they were stored. */

import type { JsMsg } from '@nats-io/jetstream'
import type { ListedEntry, PageQuery } from '../spool.ts'
import { CLASSES, decodeEntry, encodeId, encodePlace, subjectsWithin, timeOfPlace } from './codec.ts'
import type { Consumers } from './consumers.ts'
import type { Messages } from './messages.ts'

type Found = { message: JsMsg; place: number }

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
      ofClass.map(({ message, place }) =>
        consumers.describe(decodeEntry(message.headers), encodeId(priority, message.seq), place),
      ),
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
  for await (const message of messages.walk(priority, range)) {
    const place = encodePlace(priority, message.timestampNanos)
    if (place > after) found.push({ message, place })
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
    for await (const message of messages.walk(priority, { subjects, seq: start })) {
      const place = encodePlace(priority, message.timestampNanos)
      if (message.seq >= end) break
      if (place < after) window.push({ message, place })
    }
    found.push(...window.reverse())
    end = start
  }
  return found.slice(0, limit)
}
