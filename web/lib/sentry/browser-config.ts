/** What the browser has to know before it can report anything, told at run time by every document. */

import { isOfLab, LAB_ENVIRONMENT } from './lab-environment.ts'

export type BrowserSettings = {
  dsn: string
  /** Same-origin URL that reports are posted to. */
  tunnel: string
  environment: string
  release?: string
  /** Share of errors that are sent, 0 to 1. */
  sampleRate: number
  /** Share of traces that are sent, 0 to 1; absent: none, and others decide for themselves. */
  tracesSampleRate?: number
  /** Share of visits that are recorded from the start, and of those with an error whose last minute is. */
  replays: { session: number; onError: number }
  /** Whether a button takes in what visitors have to say. */
  feedback: boolean
  /** Whether what is written to the console is sent as logs, and what the code counts as metrics. */
  logs: boolean
  metrics: boolean
  /** Whether requests carry the W3C's `traceparent` beside Sentry's own headers. */
  traceparent: boolean
  /** The visitor has asked for privacy (`Sec-GPC`). */
  asksForPrivacy?: boolean
}

/** Where a document that has no settings of its own gets them. A dot keeps it apart from every tunnel path. */
const SETTINGS_URL = '/settings.json'

/** The attribute of `<html>` that carries the settings. */
export function settingsAttribute(settings: BrowserSettings | undefined): { 'data-settings': string } {
  return { 'data-settings': JSON.stringify(settings ?? null) }
}

/**
 * Reads the settings in the browser, at once: nothing of the page may run before the SDK is there to see it fail.
 * `undefined` when the site does not answer, and for a visitor of whom nothing is reported.
 */
export function readBrowserSettings(document: Document): BrowserSettings | undefined {
  const text = document.documentElement.dataset.settings ?? fetchSettings()
  return text ? (JSON.parse(text) ?? undefined) : undefined
}

/**
 * After a server exception Next writes a bare document, `<html id="__next_error__">`, that no layout can reach. Only there, a
 * request that waits is worth its price.
 */
function fetchSettings(): string | undefined {
  const request = new XMLHttpRequest()
  request.open('GET', SETTINGS_URL, false)
  try {
    request.send()
  } catch {
    return undefined // no network: there is nowhere to report to either
  }
  return request.status === 200 ? request.responseText : undefined
}

/**
 * What the lab breaks is told apart. Of the console only what breaks is reported: an operator at work is no visit, and what they look
 * at is nobody's replay.
 */
export function settingsAt(path: string, settings: BrowserSettings): BrowserSettings {
  if (isOfLab(path)) return { ...settings, environment: LAB_ENVIRONMENT }
  if (!/^\/console(\/|$)/.test(path)) return settings
  const { tracesSampleRate: _, ...others } = settings
  return { ...others, replays: { session: 0, onError: 0 }, feedback: false }
}
