/** Rules for errors of the browser, which are reported with or without the SDK. */

import { ASSET_PREFIX } from '../../asset-prefix.ts'

/** Errors by which Next.js redirects. */
export const IGNORED_ERRORS = [/^NEXT_REDIRECT$/]

/** Removes host and asset prefix from the URL of a script, since one build is served from many hosts. */
export function withoutHost(url: string): string {
  return url.replace(location.origin, 'app://').replace(`app://${ASSET_PREFIX}/_next/`, 'app:///_next/') // as the SDK for Next.js names it
}
