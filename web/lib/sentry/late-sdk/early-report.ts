/** Errors from before the SDK has started. */

import type { EarlyError } from 'tunnel/early-errors'

/** Exception that code of the page has caught. `resolve` gets the event ID, or nothing if it is not reported. */
type CaughtError = { time: number; caught: unknown; resolve: (eventId?: string) => void }

export type EarlyReport = EarlyError | CaughtError
