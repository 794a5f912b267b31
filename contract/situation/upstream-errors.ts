/** Errors of delivery attempts in a few words, and their remedies. */

import type { LastUpstreamError, UpstreamErrorClass } from '../upstream.ts'

const NAMES: Record<UpstreamErrorClass, string> = {
  ...{ dns: 'DNS', connect: 'no connection', tls: 'TLS', proxy: 'proxy', timeout: 'timeout' },
  ...{ reset: 'connection closed', redirect: 'redirect', 'http-4xx': 'HTTP 4xx', 'http-5xx': 'HTTP 5xx' },
  ...{ response: 'invalid response', other: 'error' },
}

export const NOT_SENTRY =
  'check the host in SENTRY_DSN, and the proxy in front of the server: its responses are not Sentry’s.'

/** Returns the remedy when a server answers an envelope with this status, and neither accepts nor declines it. 5xx needs none. */
export function remedyOfStatus(status: number): string {
  if (status < 400) return NOT_SENTRY
  if (status >= 500 || status === 429) return ''
  return [401, 403, 404].includes(status) // of a project that the server does not know, or of a firewall
    ? 'check that the project exists, its key in SENTRY_DSN, and the firewall in front of the server.'
    : 'check the settings of the server, such as its host names, and of the proxy in front of it.'
}

/** Returns the remedy when Sentry itself declines all envelopes with this status. */
export function remedyOfDecline(status: number): string {
  return [401, 403, 404].includes(status)
    ? 'copy the DSN from the settings of the project into SENTRY_DSN again: its key is wrong, or the project was deleted.'
    : 'the live feed shows the envelopes, and Sentry’s answers.'
}

/** Names an error briefly: "HTTP 500", "TLS: CERT_HAS_EXPIRED", "invalid response: HTTP 200". Without an error, the responses were late. */
export function nameUpstreamError(error: LastUpstreamError | undefined): string {
  if (!error) return 'too slow'
  const detail = error.status === undefined ? codeOf(error) : `HTTP ${error.status}`
  if (error.status !== undefined && error.class !== 'response') return `HTTP ${error.status}`
  return detail === undefined ? NAMES[error.class] : `${NAMES[error.class]}: ${detail}`
}

/** Returns the code for people: those of undici (`UND_ERR_SOCKET`) say no more than the class. */
export function codeOf({ code }: LastUpstreamError): string | undefined {
  return code?.startsWith('UND_ERR_') ? undefined : code
}
