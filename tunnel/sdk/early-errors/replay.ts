/** Replay of early errors, after the SDK has started. */

import { triggerHandlers } from '@sentry/core'
import type { EarlyError } from './record.ts'

/** Passes an error to the handlers of the SDK, not to those of the page, which have had it. */
export function replayError(item: EarlyError): void {
  if ('error' in item) {
    const { message: msg, filename: url, lineno: line, colno: column, error } = item.error
    triggerHandlers('error', { msg, url, line, column, error })
  } else triggerHandlers('unhandledrejection', item.rejection)
}
