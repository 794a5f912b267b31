/** Headers that keep a visitor safe from what is not ours. */

/**
 * For every answer. The page itself may capture the screen, for feedback with a screenshot; Chromium asks whether it may use the
 * camera too then, and tells a violation on the console where it may not.
 */
export const SAFETY_HEADERS = [
  { key: 'X-Content-Type-Options', value: 'nosniff' },
  { key: 'Referrer-Policy', value: 'strict-origin-when-cross-origin' },
  {
    key: 'Permissions-Policy',
    value: 'camera=(self), display-capture=(self), geolocation=(), microphone=(), payment=(), usb=()',
  },
  { key: 'X-Frame-Options', value: 'DENY' },
]

/** Scripts by their nonce alone and what these load; `reachable` are origins that the page may talk to beside its own. */
export function contentSecurityPolicy(nonce: string, reachable: string[]): string {
  return [
    "default-src 'self'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' blob: data:",
    "worker-src 'self' blob:", // a replay is compressed in a worker that the SDK brings along
    ["connect-src 'self'", ...reachable].join(' '),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** For bytes of strangers: wherever they end up, they are nobody and nothing of theirs runs. */
export const DATA_POLICY = "default-src 'none'; sandbox"

/** Whether what is at this path was written by a stranger, and is handed out as it is. */
export function isData(path: string): boolean {
  return /^\/console\/(inbox\/[^/]+\/items\/|(inbox|spool)\/[^/]+\/envelope$)/.test(path)
}

/** The nonce of the policy that `proxy.ts` hands on with a request. */
export function nonceOf(headers: Headers): string {
  return /'nonce-([^']+)'/.exec(headers.get('content-security-policy') ?? '')?.[1] ?? ''
}

const A_YEAR = 365 * 24 * 60 * 60 // s

/** Only who came by https is told to stay there; a browser that did not complains of the other header. */
export function transportSecurity(headers: Headers): [string, string][] {
  if (headers.get('x-forwarded-proto') !== 'https') return []
  return [
    ['strict-transport-security', `max-age=${A_YEAR}`],
    ['cross-origin-opener-policy', 'same-origin'],
  ]
}
