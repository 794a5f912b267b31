/** Replay of early errors, after the SDK has started. */

import { triggerHandlers, withScope } from '@sentry/core'
import type { EarlyError } from './record.ts'

/** Passes an error to the handlers of the SDK, not to those of the page, which have had it. */
export function replayError(item: EarlyError): void {
  captureAt(item.time, () => {
    if ('error' in item) {
      const { message: msg, filename: url, lineno: line, colno: column, error } = item.error
      triggerHandlers('error', { msg, url, line, column, error })
    } else triggerHandlers('unhandledrejection', item.rejection)
  })
}

/** Calls `capture`, and dates its event back to `time`, in ms since 1970. */
export function captureAt<T>(time: number, capture: () => T): T {
  return withScope((scope) => {
    scope.addEventProcessor((event) => ({ ...event, timestamp: time / 1000 }))
    return capture()
  })
}
