/** Settings of the browser's SDK, which every document carries. */

export type BrowserSettings = {
  dsn: string
  /** Same-origin URL that reports are posted to. */
  tunnel: string
  environment: string
  release?: string
  /** Share of traces that are sent, 0 to 1; absent: none, and callers decide for themselves. */
  tracesSampleRate?: number
  /** Share of visits that are recorded from the start, and of those that are recorded for a minute before an error. */
  replaysOnErrorSampleRate: number
  /** Shows a feedback button. */
  feedback: boolean
  /** Sends console output as logs, and metrics. Set in the lab, whose buttons write them. */
  hasLogsAndMetrics?: boolean
  /** Set when the visitor sends `Sec-GPC`. */
  asksForPrivacy?: boolean
}

/** Source of the settings for documents without any. No tunnel path may lie below `/console`. */
const SETTINGS_URL = '/console/public/settings.json'

/** Returns the attribute of `<html>` that carries the settings. */
export function settingsAttribute(settings: BrowserSettings | undefined): { 'data-settings': string } {
  return { 'data-settings': JSON.stringify(settings ?? null) }
}

/**
 * Reads the settings synchronously, since errors are recorded before any other code of the page runs. `undefined` when the site does not
 * respond, and for visitors about whom nothing is reported.
 */
export function readBrowserSettings(document: Document): BrowserSettings | undefined {
  const text = document.documentElement.dataset.settings ?? fetchSettings()
  return text ? (JSON.parse(text) ?? undefined) : undefined
}

/** Fetches the settings in the bare document that Next.js renders after a server error, without a layout. A synchronous request is justified only there. */
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

/** Adapts the settings to a page: the lab has an environment of its own with logs and metrics, and the console reports errors only. */
export function settingsAt(path: string, settings: BrowserSettings): BrowserSettings {
  if (isLabPath(path)) return { ...settings, environment: LAB_ENVIRONMENT, hasLogsAndMetrics: true }
  if (!/^\/console(\/|$)/.test(path)) return settings
  const { tracesSampleRate: _, ...others } = settings
  return { ...others, replaysOnErrorSampleRate: 0, feedback: false }
}

/** Environment of the error lab's reports, in the browser and on the server. */
export const LAB_ENVIRONMENT = 'lab'

export function isLabPath(path: string): boolean {
  return /^\/lab(\/|$)/.test(path)
}

const OWN_PATHS = /^\/(healthz|favicon\.ico|lab\/(report\.json|outage)|console)$|^\/console\//

/**
 * Reports whether a request is of Culvert's own pages and processes: health checks, settings, receipts, lookups of the lab, the
 * console. None is ever reported. `url` is absolute or a path.
 */
export function isOwnRequest(url: string): boolean {
  return OWN_PATHS.test(URL.parse(url, 'http://site.invalid')?.pathname ?? '')
}
