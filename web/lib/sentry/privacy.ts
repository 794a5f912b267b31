/** Privacy of reports: options of both SDKs that bound their contents, and the effect of a visitor's privacy signal, `Sec-GPC` (Global Privacy Control). */

import type { BrowserSettings } from './browser-config.ts'

/** `off`: no reports. `errors`: errors only. `mark`: all reports, with a tag. */
export type PrivacySignal = 'off' | 'errors' | 'mark'

/** Tag of reports of visitors with the signal. */
export const PRIVACY_TAG = { gpc: true }

export function asksForPrivacy(header: string | null | undefined): boolean {
  return header?.trim() === '1'
}

type Settings = { browser: BrowserSettings; privacySignal: PrivacySignal }

/** Returns the settings for a visitor; `undefined` when nothing is reported. */
export function settingsFor(
  { browser, privacySignal }: Settings,
  headers: Pick<Headers, 'get'>,
): BrowserSettings | undefined {
  if (!asksForPrivacy(headers.get('sec-gpc'))) return browser
  if (privacySignal === 'off') return undefined
  const marked = { ...browser, asksForPrivacy: true }
  if (privacySignal === 'mark') return marked
  const { tracesSampleRate: _, ...untraced } = marked
  return { ...untraced, replaysOnErrorSampleRate: 0 }
}

/** Data that no report contains. Version 11 collects all of it by default. */
export const DATA_COLLECTION = { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [] }

/** Drops logs and metrics. Version 11 sends them by default. */
export const NO_LOGS_AND_METRICS = { beforeSendLog: () => null, beforeSendMetric: () => null }
