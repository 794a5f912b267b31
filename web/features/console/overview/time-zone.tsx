/** Time zone of the times that the console shows: the reader's. */
'use client'

import { useHydrated } from '../../../lib/use-hydrated.ts'

/** Renders nothing on the server, which does not know the reader's time zone. */
export function TimeZone() {
  if (!useHydrated()) return null
  return <span className="text-quiet">Times in {describeTimeZone(new Date())}</span>
}

/** Returns the name of the time zone and its difference from UTC at a time: "Europe/Berlin (GMT+1)". */
export function describeTimeZone(time: Date): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' }).formatToParts(time)
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return offset === timeZone ? timeZone : `${timeZone} (${offset})`
}
