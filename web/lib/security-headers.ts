/** Security headers. */

import { asksForPrivacy } from './sentry/privacy.ts'

/** Headers of every response. Feedback may capture the screen, for which Chromium also requires permission for the camera. */
export const SAFETY_HEADERS = [
  { key: 'X-Content-Type-Options', value: 'nosniff' },
  { key: 'Referrer-Policy', value: 'strict-origin-when-cross-origin' },
  {
    key: 'Permissions-Policy',
    value: 'camera=(self), display-capture=(self), geolocation=(), microphone=(), payment=(), usb=()',
  },
  { key: 'X-Frame-Options', value: 'DENY' },
]

type PolicyOptions = {
  /** Origins that the page may connect to. */
  reachable: readonly string[]
  /** URL that browsers post violations to. */
  reportsUrl: string | undefined
}

/**
 * Allows scripts by nonce and what these load. Violations go to `report-uri`: every browser has it, and sends them at once and over HTTP
 * too. With `report-to`, Chromium ignores it, waits for up to a minute and needs HTTPS.
 */
export function contentSecurityPolicy(nonce: string, { reachable, reportsUrl }: PolicyOptions): string {
  const sample = reportsUrl ? " 'report-sample'" : ''
  return [
    "default-src 'self'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'${sample}`,
    `style-src 'self' 'nonce-${nonce}'${sample}`,
    "img-src 'self' blob: data:",
    "worker-src 'self' blob:", // the SDK compresses replays in a worker
    ["connect-src 'self'", ...reachable].join(' '),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    ...(reportsUrl ? [`report-uri ${reportsUrl}`] : []),
  ].join('; ')
}

/** Frame that plays replays. It shows untrusted pages. */
export const REPLAY_FRAME = '/console/inbox/replay-frame'

/** Allows the script of the frame, and styles and images that the replay contains. Nothing is loaded, and the origin is unique. */
export function replayFramePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'", // browsers then ignore X-Frame-Options
    'sandbox allow-scripts',
  ].join('; ')
}

/** Policy for untrusted files: they run nothing. */
export const DATA_POLICY = "default-src 'none'; sandbox"

/** Reports whether a path returns an untrusted file. */
export function isData(path: string): boolean {
  return /^\/console\/(inbox\/[^/]+\/(items\/|recording$)|(inbox|spool)\/[^/]+\/envelope$)/.test(path)
}

/** Returns the nonce of a request's policy, which `proxy.ts` has set. */
export function nonceOf(headers: Headers): string {
  return /'nonce-([^']+)'/.exec(headers.get('content-security-policy') ?? '')?.[1] ?? ''
}

const A_DAY = 24 * 60 * 60 // s
const A_YEAR = 365 * A_DAY

/** Returns the headers for HTTPS only: browsers complain about the second one without it. */
export function transportSecurity(headers: Headers): [string, string][] {
  if (headers.get('x-forwarded-proto') !== 'https') return []
  return [
    ['strict-transport-security', `max-age=${A_YEAR}`],
    ['cross-origin-opener-policy', 'same-origin'],
  ]
}

export function isOfConsole(path: string): boolean {
  return /^\/console(\/|$)/.test(path)
}

/**
 * Returns the headers that ask browsers for reports to `url`, except about the console, and from visitors with `Sec-GPC`. Browsers accept them only
 * over HTTPS; NEL needs Report-To. They expire after a day, so that browsers soon forget them after they are switched off.
 */
export function reportingHeaders(
  headers: Headers,
  path: string,
  url: string | undefined,
): [string, string][] {
  const isWanted = headers.get('x-forwarded-proto') === 'https' && !asksForPrivacy(headers.get('sec-gpc'))
  if (url === undefined || !isWanted || isOfConsole(path)) return []
  return [
    ['reporting-endpoints', `default="${url}"`],
    ['report-to', JSON.stringify({ group: 'default', max_age: A_DAY, endpoints: [{ url }] })],
    ['nel', JSON.stringify({ report_to: 'default', max_age: A_DAY })],
  ]
}
