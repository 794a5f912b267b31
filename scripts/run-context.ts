/** What a way of running is handed beside the settings. */

import type { Clock } from './clock.ts'
import type { Report } from './output.ts'

export type Session = {
  clock: Clock
  report: Report
  /** Aborts when the site is to be stopped. */
  stopped: AbortSignal
  /** To be called once, when the site answers. */
  onUp: () => void
}
