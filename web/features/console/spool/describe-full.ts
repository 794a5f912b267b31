/** Time until a spool is full, in words. */

import { formatDuration } from '../../../lib/format.ts'

/** Describes when the spool is full. Entries expire after `maxAgeMs`, so a spool that would be full later does not become full. */
export function describeFull(seconds: number | undefined, maxAgeMs: number): string {
  if (seconds === undefined) return 'not growing'
  return seconds * 1000 < maxAgeMs ? formatDuration(seconds * 1000) : 'never: entries expire earlier'
}
