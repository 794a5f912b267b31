/** Types of the admin API that describe errors of an upstream. */

/**
 * Classes of a failed delivery attempt: no address; no connection; certificate or handshake; no connection through the proxy; no response in
 * time; connection closed before the response; a redirect; a 4xx that is not Sentry's; a 5xx; a response that cannot be read; unknown.
 */
export const UPSTREAM_ERROR_CLASSES = [
  'dns',
  'connect',
  'tls',
  'proxy',
  'timeout',
  'reset',
  'redirect',
  'http-4xx',
  'http-5xx',
  'response',
  'other',
] as const

export type UpstreamErrorClass = (typeof UPSTREAM_ERROR_CLASSES)[number]

/** `late`: the sender did not wait for the response. `breaker-open`: the envelope was not sent. */
export type ReceiptUpstreamError = UpstreamErrorClass | 'late' | 'breaker-open'

/** Last error of an upstream. Times are in milliseconds since 1970. */
export type LastUpstreamError = {
  class: UpstreamErrorClass
  /** Error code of Node, OpenSSL or undici, such as `ENOTFOUND`. */
  code?: string
  /** Status of the response. */
  status?: number
  /** Equal errors in a row: first and last time, and their number. A response ends the row. */
  first: number
  last: number
  count: number
}

/** Refusals of a project in a row: a 4xx that is not Sentry's, after which envelopes are sent again. Times are in milliseconds since 1970. */
export type ProjectRefusal = {
  project: string
  /** Sentry's own 4xx, which declines envelopes: with a wrong key or a deleted project, all of them. `networks`: 2 when several clients sent them. */
  is_decline?: true
  networks?: number
  status: number
  /** Text of the last response, cut to 160 characters. */
  message?: string | undefined
  first: number
  last: number
  count: number
}

/** Rate limit of Sentry; `until` in milliseconds since 1970. `standing`: the server does not store this category, and never will. */
export type LimitInForce = { project: string; category: string; until: number; standing?: true }

/** State of an upstream: circuit breaker, and the last error since the replica started. Times are in milliseconds since 1970. */
export type UpstreamState = {
  origin: string
  /** The server has responded since this tunnel started, also with a 4xx. */
  has_responded: boolean
  /** CSP reports go to the endpoint `/security/`; absent: in envelopes. */
  csp_reports?: 'endpoint'
  /** Compression by `UPSTREAM_ENCODING`; absent when it is off. `is_refused`: within the last hour, so that envelopes leave uncompressed. */
  compression?: { encoding: 'gzip'; is_refused: boolean }
  breaker: { open: false; since: number } | { open: true; since: number; next_probe: number }
  last_error?: LastUpstreamError
  /** Projects whose last envelopes were refused or declined. */
  refusals: ProjectRefusal[]
}
