/** All replicas added up, told again and again for as long as somebody looks. */

import { setTimeout as wait } from 'node:timers/promises'
import { type Console, openConsole } from '../../../features/console/data-access.ts'
import { overviewOf } from '../../../features/console/monitor/snapshot.ts'
import { events, notSignedIn } from '../../../features/console/responses.ts'

const EVERY_MS = 2_000

export async function GET(): Promise<Response> {
  const door = await openConsole()
  return door ? events(streamLooks(door)) : notSignedIn()
}

/** First the last quarter of an hour, then a look whenever the one before has been read. */
function streamLooks(door: Console): ReadableStream<Uint8Array> {
  const text = new TextEncoder()
  const gone = new AbortController()
  let told = 0
  return new ReadableStream(
    {
      async pull(controller) {
        if (told++ > 0) await wait(EVERY_MS, undefined, { signal: gone.signal }).catch(() => {})
        if (gone.signal.aborted) return
        if (!door.isOpen()) return controller.close()
        const glance = overviewOf(await door.look())
        if (gone.signal.aborted) return
        const data = told === 1 ? { glance, history: door.history() } : { glance }
        controller.enqueue(text.encode(`data: ${JSON.stringify(data)}\n\n`))
      },
      cancel: () => gone.abort(),
    },
    { highWaterMark: 0 },
  )
}
