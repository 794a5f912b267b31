/** What the browser has to know before it can report anything, told at run time by every document. */

export type BrowserSettings = {
  dsn: string
  /** Same-origin URL that reports are posted to. */
  tunnel: string
  environment: string
  release?: string
  /** Share of traces that are sent, 0 to 1; absent: none, and others decide for themselves. */
  tracesSampleRate?: number
}

/** Where a document that has no settings of its own gets them. A dot keeps it apart from every tunnel path. */
const SETTINGS_URL = '/settings.json'

/** The attribute of `<html>` that carries the settings. */
export function settingsAttribute(settings: BrowserSettings): { 'data-settings': string } {
  return { 'data-settings': JSON.stringify(settings) }
}

/**
 * Reads the settings in the browser, at once: nothing of the page may run before the SDK is there to see it fail.
 * `undefined` when the site does not answer.
 */
export function readBrowserSettings(document: Document): BrowserSettings | undefined {
  const text = document.documentElement.dataset.settings ?? fetchSettings()
  return text ? JSON.parse(text) : undefined
}

/**
 * After a server exception Next writes a bare document, `<html id="__next_error__">`, that no layout can reach, and
 * the one for its own failures is made at build time. Only there, a request that waits is worth its price.
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
