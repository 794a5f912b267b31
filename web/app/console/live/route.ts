/** Streams a summary of all replicas every 2 s as server-sent events, the first with the history. */

import { setTimeout as wait } from 'node:timers/promises'
import { type ConsoleData, getConsoleData } from '../../../features/console/data-access/data-access.ts'
import type { Point } from '../../../features/console/monitor/replica-monitor.ts'
import { summarise } from '../../../features/console/monitor/snapshot.ts'
import type { LiveEvent } from '../../../features/console/monitor/use-snapshot.ts'
import { events, notSignedIn } from '../../../features/console/responses.ts'

const EVERY_MS = 2_000

export async function GET(): Promise<Response> {
  const data = await getConsoleData()
  return data ? events(streamSnapshots(data, await data.history())) : notSignedIn()
}

/** Takes a snapshot only after the one before was read. */
function streamSnapshots(data: ConsoleData, history: Point[]): ReadableStream<Uint8Array> {
  const text = new TextEncoder()
  const closed = new AbortController()
  let isFirst = true
  return new ReadableStream(
    {
      async pull(controller) {
        if (!isFirst) await wait(EVERY_MS, undefined, { signal: closed.signal }).catch(() => {})
        if (closed.signal.aborted) return
        if (!data.isSignedIn()) return controller.close()
        const overview = summarise(await data.snapshot())
        if (closed.signal.aborted) return
        const event: LiveEvent = { overview, ...(isFirst && { history }) }
        isFirst = false
        controller.enqueue(text.encode(`data: ${JSON.stringify(event)}\n\n`))
      },
      cancel: () => closed.abort(),
    },
    { highWaterMark: 0 },
  )
}
