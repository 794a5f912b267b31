/** Sends the errors of a page that is left before its SDK is loaded. */

import type { BrowserSettings } from '../browser-config.ts'
import { PRIVACY_TAG } from '../privacy.ts'
import { type EarlyReport, IGNORED_ERRORS, withoutHost } from './early-report.ts'

/** Browsers fail requests that outlive their page above 64 KiB in total, and some above 15 of them. */
const MAX_BYTES = 60_000
const MAX_REQUESTS = 14

/**
 * Sends an event for each `Error`, with its stack and the trace, but without breadcrumbs, causes and session. A client report counts
 * those for which the browser has no room, and the `dropped` ones.
 */
export function sendWithoutSdk(
  reports: readonly EarlyReport[],
  dropped: number,
  settings: BrowserSettings,
): void {
  const sent = new Set<unknown>()
  let [bytes, lost] = [0, dropped]
  for (const report of reports) {
    const error = errorOf(report)
    const isSent = isReported(error) && !sent.has(error)
    const event = isSent ? eventOf(error, report, settings) : undefined
    const body = event && envelopeOf({ type: 'event' }, event, settings)
    const hasRoom = body && sent.size < MAX_REQUESTS && bytes + body.length <= MAX_BYTES
    if (hasRoom) {
      post(body, settings)
      sent.add(error)
      bytes += body.length
    } else if (body) lost++
    if ('caught' in report) report.resolve(hasRoom ? event?.event_id : undefined)
  }
  if (lost > 0) post(envelopeOf({ type: 'client_report' }, lossOf(lost), settings), settings)
}

function errorOf(report: EarlyReport): unknown {
  if ('caught' in report) return report.caught
  return 'error' in report ? report.error.error : report.rejection.reason
}

function isReported(error: unknown): error is Error {
  return error instanceof Error && !IGNORED_ERRORS.some((pattern) => pattern.test(error.message))
}

/** Returns the mechanism that the SDK would name. */
function mechanismOf(report: EarlyReport) {
  if ('caught' in report) return { type: 'generic', handled: true }
  const handler = 'error' in report ? 'onerror' : 'onunhandledrejection'
  return { type: `auto.browser.global_handlers.${handler}`, handled: false }
}

function eventOf({ name, message, stack }: Error, report: EarlyReport, settings: BrowserSettings) {
  const { environment, release, asksForPrivacy } = settings
  const trace = document.querySelector<HTMLMetaElement>('meta[name="sentry-trace"]')?.content
  return {
    event_id: randomHex(16),
    timestamp: report.time / 1000,
    platform: 'javascript',
    level: 'error',
    environment,
    release,
    request: { url: location.href },
    contexts: { trace: { trace_id: trace?.slice(0, 32) ?? randomHex(16), span_id: randomHex(8) } },
    exception: {
      values: [
        {
          type: name,
          value: message,
          mechanism: mechanismOf(report),
          stacktrace: { frames: framesOf(stack ?? '') },
        },
      ],
    },
    ...(asksForPrivacy && { tags: PRIVACY_TAG }),
  }
}

function lossOf(quantity: number) {
  return {
    timestamp: Date.now() / 1000,
    discarded_events: [{ reason: 'buffer_overflow', category: 'error', quantity }],
  }
}

/** Returns the bytes of an envelope with one item. */
function envelopeOf(
  item: object,
  payload: { event_id?: string; timestamp: number },
  { dsn }: BrowserSettings,
): Uint8Array<ArrayBuffer> {
  const header = { event_id: payload.event_id, dsn, sent_at: new Date().toISOString() }
  return new TextEncoder().encode([header, item, payload].map((line) => JSON.stringify(line)).join('\n'))
}

/** Posts an envelope; the page is gone when the response arrives. */
function post(body: Uint8Array<ArrayBuffer>, { tunnel }: BrowserSettings): void {
  fetch(tunnel, { method: 'POST', body, keepalive: true, referrerPolicy: 'strict-origin' }).catch(() => {})
}

function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes))
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Frame in the stacks of Chromium (`at f (url:1:2)`), Firefox and Safari (`f@url:1:2`). */
const FRAME = /^\s*(?:at (?:(.*?) \()?|(.*?)@)(\S+?):(\d+):(\d+)\)?$/

/** Most characters of a line that is parsed, as in the SDK: a message may be long. */
const MAX_LINE = 1024

/** Returns the frames of a stack, the outermost first. */
function framesOf(stack: string) {
  const lines = stack.split('\n').filter((line) => line.length <= MAX_LINE)
  const frames = lines.flatMap((line) => {
    const [, chromium, other, url, lineno, colno] = FRAME.exec(line) ?? []
    if (!url) return []
    const filename = withoutHost(url)
    return {
      function: chromium || other || '?',
      filename,
      lineno: Number(lineno),
      colno: Number(colno),
      in_app: true,
    }
  })
  return frames.reverse()
}
