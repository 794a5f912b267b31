/** Reports of a page that is left before its SDK is there: they are kept for the next page, whose `beforeSend` they then pass. */

import { withScope } from '@sentry/core'
import type { Queued } from '../handover.ts'
import { localKeys } from '../offline/local.ts'

/** Bound of all queues in characters, of which an origin may store some 5 million. */
const MAX_LENGTH = 300_000

/** Queue of an earlier page. */
type StoredQueue = { url: string; reports: Queued[] }

/** Returns the beginning of the keys in `localStorage`. Each page has a key of its own, since several may be left before an SDK is there. */
function queueName(store: string): string {
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
    const name = queueName(store)
    const lengths = localKeys(name).map((key) => String(localStorage.getItem(key)).length)
    if (reports.length === 0 || lengths.reduce((sum, each) => sum + each, text.length) > MAX_LENGTH) return
    localStorage.setItem(`${name} ${Date.now()} ${Math.random()}`, text)
    queue.splice(0, queue.length, ...queue.filter((item) => !isReport(item)))
  } catch {} // storage is blocked, or an argument cannot be JSON
}

/** Takes the reports of earlier pages that were left before their SDK was there, the oldest first, and passes each to `replay`. */
export function replayStoredQueues(store: string, replay: (item: Queued) => void): void {
  try {
    for (const key of localKeys(queueName(store)).sort()) {
      const text = localStorage.getItem(key)
      localStorage.removeItem(key)
      replayQueue(text, replay)
    }
  } catch {} // storage is blocked
}

function replayQueue(text: string | null, replay: (item: Queued) => void): void {
  try {
    const { url, reports }: StoredQueue = JSON.parse(String(text), revive)
    withScope((scope) => {
      scope.addEventProcessor((event) => ({ ...event, request: { ...event.request, url } }))
      for (const item of reports) replay(item)
    })
  } catch {} // another page has taken it, or another script has written there
}

function revive(_: string, value: { isError?: 1 } | null): unknown {
  return value?.isError ? Object.assign(new Error(), value) : value
}
