/** Errors of delivery attempts in sentences. */

import { codeOf } from 'contract/situation/upstream-errors'
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

/** Returns the class as a sentence, with the code or the status. */
export function describeUpstreamError(host: string, error: LastUpstreamError): string {
  const detail = error.status ?? codeOf(error)
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
