/** Streams the state of all replicas and the figures of a range every 2 s as server-sent events. The first one has everything, the others the changes. */

import { setTimeout as wait } from 'node:timers/promises'
import { type ConsoleData, getConsoleData } from '../../../features/console/data-access/data-access.ts'
import { eventAfter, type LiveView } from '../../../features/console/figures/live-view.ts'
import { type Range, readRange } from '../../../features/console/figures/range.ts'
import { events, notSignedIn } from '../../../features/console/responses.ts'

const EVERY_MS = 2_000

export async function GET(request: Request): Promise<Response> {
  const data = await getConsoleData()
  const range = readRange(new URL(request.url).searchParams.get('range') ?? undefined)
  return data ? events(streamViews(data, range)) : notSignedIn()
}

/** Reads a view only after the one before was read. */
function streamViews(data: ConsoleData, range: Range): ReadableStream<Uint8Array> {
  const text = new TextEncoder()
  const closed = new AbortController()
  let last: LiveView | undefined
  return new ReadableStream(
    {
      async pull(controller) {
        if (last) await wait(EVERY_MS, undefined, { signal: closed.signal }).catch(() => {})
        if (closed.signal.aborted) return
        if (!(await data.isSignedIn())) return controller.close()
        const view = await data.live(range)
        if (closed.signal.aborted) return
        controller.enqueue(text.encode(`data: ${JSON.stringify(eventAfter(last, view))}\n\n`))
        last = view
      },
      cancel: () => closed.abort(),
    },
    { highWaterMark: 0 },
  )
}
