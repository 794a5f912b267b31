/** Sends the errors of a page that is left before its SDK is loaded. */

import type { BrowserSettings } from '../browser-config.ts'
import { PRIVACY_TAG } from '../privacy.ts'
import type { EarlyReport } from './early-report.ts'
import { IGNORED_ERRORS, withoutHost } from './event-rules.ts'

/** Sends an event for each `Error`, with its stack and the trace, but without breadcrumbs, causes and session. */
export function sendWithoutSdk(reports: readonly EarlyReport[], settings: BrowserSettings): void {
  for (const report of reports) {
    const error = errorOf(report)
    const isSent = isReported(error) && Math.random() < settings.sampleRate
    const eventId = isSent ? send(error, report, settings) : undefined
    if ('caught' in report) report.resolve(eventId)
  }
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

/** Returns the ID of the event. */
function send({ name, message, stack }: Error, report: EarlyReport, settings: BrowserSettings): string {
  const { dsn, tunnel, environment, release, asksForPrivacy } = settings
  const eventId = randomHex(16)
  const trace = document.querySelector<HTMLMetaElement>('meta[name="sentry-trace"]')?.content
  const event = {
    event_id: eventId,
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
  const lines = [{ event_id: eventId, dsn, sent_at: new Date().toISOString() }, { type: 'event' }, event]
  const body = lines.map((line) => JSON.stringify(line)).join('\n')
  // The page is gone when the response arrives.
  fetch(tunnel, { method: 'POST', body, keepalive: true }).catch(() => {})
  return eventId
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
