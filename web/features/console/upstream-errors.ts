/** Errors of delivery attempts in words. */

import type { LastUpstreamError, ReceiptUpstreamError, UpstreamErrorClass } from 'contract/upstream'
import { formatMinute, formatQuantity } from '../../lib/format.ts'

const SENTENCES: Record<UpstreamErrorClass, (host: string) => string> = {
  dns: (host) => `DNS: no address for ${host}`,
  connect: (host) => `Connection: ${host} cannot be reached`,
  tls: (host) => `TLS: the certificate or the handshake of ${host} fails`,
  proxy: (host) => `Proxy: cannot connect to ${host} through the proxy`,
  timeout: (host) => `Timeout: ${host} does not respond in time`,
  reset: (host) => `Reset: ${host} closes the connection without a response`,
  redirect: (host) => `Redirect: ${host} redirects; check the host in SENTRY_DSN`,
  'http-4xx': (host) => `HTTP 4xx: ${host} sends a response that is not Sentry’s`,
  'http-5xx': (host) => `HTTP 5xx: ${host} fails`,
  response: (host) => `Response: ${host} sends an invalid response`,
  other: (host) => `Error: delivery to ${host} fails`,
}

const NAMES: Record<UpstreamErrorClass, string> = {
  ...{ dns: 'DNS', connect: 'no connection', tls: 'TLS', proxy: 'proxy', timeout: 'timeout' },
  ...{ reset: 'connection closed', redirect: 'redirect', 'http-4xx': 'HTTP 4xx', 'http-5xx': 'HTTP 5xx' },
  ...{ response: 'invalid response', other: 'error' },
}

export const NOT_SENTRY =
  'check the host in SENTRY_DSN, and the proxy in front of the server: its responses are not Sentry’s.'

/** Returns what to check when a server answers an envelope with this status, and neither accepts nor declines it. 5xx ends without an operator. */
export function remedyOfStatus(status: number): string {
  if (status < 400) return NOT_SENTRY
  if (status >= 500 || status === 429) return ''
  return [401, 403, 404].includes(status) // of a project that the server does not know, or of a firewall
    ? 'check that the project exists, its key in SENTRY_DSN, and the firewall in front of the server.'
    : 'check the settings of the server, such as its host names, and of the proxy in front of it.'
}

/** Names an error briefly: "HTTP 500", "TLS: CERT_HAS_EXPIRED", "invalid response: HTTP 200". Without an error, the responses were late. */
export function nameUpstreamError(error: LastUpstreamError | undefined): string {
  if (!error) return 'too slow'
  const detail = error.status === undefined ? error.code : `HTTP ${error.status}`
  if (error.status !== undefined && error.class !== 'response') return `HTTP ${error.status}`
  return detail === undefined ? NAMES[error.class] : `${NAMES[error.class]}: ${detail}`
}

/** Returns the class as a sentence, with the code or the status. */
export function describeUpstreamError(host: string, error: LastUpstreamError): string {
  const detail = error.status ?? error.code
  return `${SENTENCES[error.class](host)}${detail === undefined ? '' : ` (${detail})`}`
}

/** Adds the number of errors and the time of the first one, in the reader's time zone. */
export function countUpstreamErrors(host: string, error: LastUpstreamError): string {
  return `${describeUpstreamError(host, error)}, ${formatQuantity(error.count, 'time')} since ${formatMinute(error.first)}`
}

export function describeReceiptError(host: string, error: ReceiptUpstreamError): string {
  if (error === 'late') return `Slow: ${host} did not respond in time`
  if (error === 'breaker-open') return 'Not sent: the circuit breaker was open. The overview shows the error'
  return SENTENCES[error](host)
}
