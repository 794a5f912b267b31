/** Reports of a page that is left before its SDK is there: they are kept for the next page, whose `beforeSend` they then pass. */

import { withScope } from '@sentry/core'
import type { Queued } from '../handover.ts'

/** Bound in characters, of which an origin may store some 5 million. */
const MAX_LENGTH = 300_000

/** Queue of an earlier page. */
type StoredQueue = { url: string; reports: Queued[] }

/** Returns the key of the queue in `localStorage`. */
function queueKey(store: string): string {
  return `${store} early`
}

/** Moves the reports of a queue to `localStorage`: if the page comes back, it has no more of them than another page. */
export function storeQueue(store: string, queue: Queued[]): void {
  const isReport = (item: Queued) => !('call' in item) || /^capture/.test(item.call)
  const reports = queue.filter(isReport)
  try {
    const text = JSON.stringify({ url: location.href, reports } satisfies StoredQueue, (_, value) =>
      value instanceof Error
        ? { name: value.name, message: value.message, stack: value.stack, isError: 1 }
        : value,
    )
    if (reports.length === 0 || text.length > MAX_LENGTH) return
    localStorage.setItem(queueKey(store), text)
    queue.splice(0, queue.length, ...queue.filter((item) => !isReport(item)))
  } catch {} // storage is blocked, or an argument cannot be JSON
}

/** Takes the reports of an earlier page that was left before its SDK was there, and passes each to `replay`. */
export function replayStoredQueue(
  store: string,
  replay: (item: StoredQueue['reports'][number]) => void,
): void {
  const key = queueKey(store)
  try {
    const text = localStorage.getItem(key)
    if (text === null) return
    localStorage.removeItem(key)
    const { url, reports }: StoredQueue = JSON.parse(text, revive)
    withScope((scope) => {
      scope.addEventProcessor((event) => ({ ...event, request: { ...event.request, url } }))
      for (const item of reports) replay(item)
    })
  } catch {} // storage is blocked, or another script has written there
}

function revive(_: string, value: { isError?: 1 } | null): unknown {
  return value?.isError ? Object.assign(new Error(), value) : value
}
