/** Errors from before the SDK has started, and the rules for errors that hold with and without it. */

import type { EarlyError } from 'tunnel/early-errors'
import { ASSET_PREFIX } from '../../asset-prefix.ts'

/** Exception that code of the page has caught. `resolve` gets the event ID, or nothing if it is not reported. */
type CaughtError = { time: number; caught: unknown; resolve: (eventId?: string) => void }

export type EarlyReport = EarlyError | CaughtError

/** Errors by which Next.js redirects. */
export const IGNORED_ERRORS = [/^NEXT_REDIRECT$/]

/** Removes host and asset prefix from the URL of a script, since one build is served from many hosts. */
export function withoutHost(url: string): string {
  return url.replace(location.origin, 'app://').replace(`app://${ASSET_PREFIX}/_next/`, 'app:///_next/') // as the SDK for Next.js names it
}
