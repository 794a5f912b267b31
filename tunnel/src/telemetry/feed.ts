/** Receipts as they are settled, and ends of what was spooled, over server-sent events, for as long as somebody reads. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import type { FeedEvent, Receipts } from './receipts.ts'

const HEARTBEAT_MS = 15_000
const GATHER_MS = 100 // what comes together goes together: a write costs more than what is in it
const MOST_AT_ONCE = 200
const MOST_READERS = 100

export type Feed = (c: Context) => Response

/**
 * Answers with what was told after `Last-Event-ID` (`replica:number`); without one with the `newest` so many, or from now on. A reader is a position: each
 * write is awaited, so that one who sleeps costs nothing, and who has slept too long is told of the gap. `replica` marks the
 * process: a number of another one means nothing here.
 */
export function createFeed(receipts: Receipts, replica: string): Feed {
  let readers = 0
  return function streamReceipts(c) {
    if (c.req.method === 'HEAD') return c.body(null) // Hono asks as for GET, and nobody would ever read what is told
    if (readers >= MOST_READERS)
      return c.json({ detail: `${MOST_READERS} read the feed already. Close some of them.` }, 503)
    const many = c.req.query('newest') ?? '0'
    if (!/^\d{1,9}$/.test(many)) return c.json({ detail: 'newest is how many receipts, like 1000.' }, 400)
    readers++
    const from =
      readPoint(c.req.header('last-event-id') ?? '', receipts, replica) ??
      beforeNewest(Number(many), receipts)
    return streamSSE(c, (stream) => follow(stream, receipts, replica, from).finally(() => readers--))
  }
}

async function follow(
  stream: SSEStreamingApi,
  receipts: Receipts,
  replica: string,
  from: number,
): Promise<void> {
  const gone = new AbortController()
  stream.onAbort(() => gone.abort())
  let isIdle = false
  const heart = setInterval(() => isIdle && void stream.write(': still here\n\n'), HEARTBEAT_MS)
  try {
    for (let at = from; !stream.aborted; ) {
      const { first, told: batch } = receipts.after(at, MOST_AT_ONCE)
      const gap = first > at + 1 ? sayGap(first - at - 1, replica) : ''
      const told = batch.map((one, index) => say(one, `${replica}:${first + index}`)).join('')
      if (gap || told) await stream.write(gap + told)
      at = first + batch.length - 1
      if (receipts.newest() > at) continue
      isIdle = true
      await receipts.next(gone.signal)
      isIdle = false
      await wait(GATHER_MS, undefined, { signal: gone.signal }).catch(() => {})
    }
  } finally {
    clearInterval(heart)
  }
}

function say({ event, json }: FeedEvent, id: string): string {
  return `event: ${event}\ndata: ${json}\nid: ${id}\n\n`
}

function sayGap(missed: number, replica: string): string {
  return `event: gap\ndata: ${JSON.stringify({ missed, replica })}\n\n`
}

/** `undefined` where it names none of ours. */
function readPoint(lastId: string, receipts: Receipts, replica: string): number | undefined {
  const [name, number] = splitLast(lastId)
  if (name !== replica || !/^\d{1,15}$/.test(number)) return undefined
  return Math.min(Number(number), receipts.newest())
}

/** As far as so many are kept: who has read none yet misses none. */
function beforeNewest(many: number, receipts: Receipts): number {
  return receipts.after(receipts.newest() - many, 0).first - 1
}

/** A replica's name may hold a colon itself. */
function splitLast(id: string): [string, string] {
  const colon = id.lastIndexOf(':')
  return [id.slice(0, Math.max(0, colon)), id.slice(colon + 1)]
}
