/** The receipts as they are settled, over server-sent events, for as long as somebody reads. */

import type { Context } from 'hono'
import { streamSSE } from 'hono/streaming'
import type { Receipts } from './receipts.ts'

const HEARTBEAT_MS = 15_000

/**
 * Answers with the receipts after `Last-Event-ID` (`replica:number`), or from now on without one. A reader is a position: each
 * write is awaited, so that one who sleeps costs nothing, and who has slept too long is told of the gap. `replica` marks the
 * process: a number of another one means nothing here.
 */
export function streamReceipts(c: Context, receipts: Receipts, replica: string): Response {
  return streamSSE(c, async (stream) => {
    const gone = new AbortController()
    stream.onAbort(() => gone.abort())
    let idle = false
    const heart = setInterval(() => idle && void stream.write(': still here\n\n'), HEARTBEAT_MS)
    let at = startingPoint(c.req.header('last-event-id'), receipts, replica)
    try {
      while (!stream.aborted) {
        const { first, receipts: batch } = receipts.after(at)
        if (first > at + 1)
          await stream.writeSSE({ event: 'gap', data: JSON.stringify({ missed: first - at - 1, replica }) })
        at = first - 1
        for (const receipt of batch) {
          at++
          await stream.writeSSE({ id: `${replica}:${at}`, event: 'receipt', data: JSON.stringify(receipt) })
        }
        idle = receipts.newest() === at
        if (idle) await receipts.next(gone.signal)
        idle = false
      }
    } finally {
      clearInterval(heart)
    }
  })
}

function startingPoint(lastId: string | undefined, receipts: Receipts, replica: string): number {
  const [name, number] = splitLast(lastId ?? '')
  if (name !== replica || !/^\d{1,15}$/.test(number)) return receipts.newest()
  return Math.min(Number(number), receipts.newest())
}

/** A replica's name may hold a colon itself. */
function splitLast(id: string): [string, string] {
  const colon = id.lastIndexOf(':')
  return [id.slice(0, Math.max(0, colon)), id.slice(colon + 1)]
}
