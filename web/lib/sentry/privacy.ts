/** What becomes of reports where a visitor's browser asks for privacy, with `Sec-GPC` (Global Privacy Control). */

import type { BrowserSettings } from './browser-config.ts'

/** Nothing is reported, or errors alone are, or all of it is and says that they asked. */
export type PrivacySignal = 'off' | 'errors' | 'mark'

/** The tag of a report that says that its visitor asked. */
export const PRIVACY_TAG = { gpc: true }

export function asksForPrivacy(header: string | null | undefined): boolean {
  return header?.trim() === '1'
}

type Settings = { browser: BrowserSettings; privacySignal: PrivacySignal }

/** What a visitor's browser is told: less where they ask for it, `undefined` for nothing at all. */
export function settingsFor(
  { browser, privacySignal }: Settings,
  headers: Pick<Headers, 'get'>,
): BrowserSettings | undefined {
  if (!asksForPrivacy(headers.get('sec-gpc'))) return browser
  if (privacySignal === 'off') return undefined
  const marked = { ...browser, asksForPrivacy: true }
  if (privacySignal === 'mark') return marked
  const { tracesSampleRate: _, ...untraced } = marked
  return { ...untraced, replays: { session: 0, onError: 0 } }
}
