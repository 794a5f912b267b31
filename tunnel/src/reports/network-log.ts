/**
 * Log of a network error, with the attributes and the level that Relay's `/nel/` endpoint writes (relay-event-normalization/src/normalize/
 * nel.rs `create_log` at 013558660a5f).
 */

import type { BrowserReport } from 'contract/report-types'

type Item = { header: object; payload: object }
type Attribute = { type: 'string' | 'double' | 'integer'; value: string | number }

/** Attributes with fractions. JSON does not tell 1 from 1.0. */
const DOUBLES: ReadonlySet<string> = new Set(['nel.sampling_fraction'])

/** Builds an item `log` with one log. Its trace ID is nil, as in Relay: no trace belongs to the report. */
export function networkLogOf(
  { url, body, ageMs }: BrowserReport,
  context: { time: number; release: string | undefined; environment: string },
): Item {
  const { phase, type, method, protocol, referrer, status_code, server_ip, elapsed_time, sampling_fraction } =
    body
  const [protocolName, protocolVersion] = typeof protocol === 'string' ? protocol.split('/') : []
  const attributes = attributesOf({
    'sentry.origin': 'auto.http.browser_report.nel',
    'sentry.environment': context.environment,
    'sentry.release': context.release,
    'browser.report.type': 'network-error',
    'url.domain': URL.parse(url)?.hostname ?? url,
    'url.full': url,
    'http.request.duration': elapsed_time,
    'http.request.method': method,
    'http.request.header.referer': referrer,
    'http.response.status_code': status_code,
    'network.protocol.name': protocolName,
    'network.protocol.version': protocolVersion,
    'server.address': server_ip,
    'nel.referrer': referrer,
    'nel.phase': phase,
    'nel.sampling_fraction': sampling_fraction,
    'nel.type': type,
  })
  const log = {
    timestamp: (context.time - ageMs) / 1000,
    trace_id: '0'.repeat(32),
    level: type === 'ok' ? 'info' : 'warn',
    body: messageOf(String(type ?? 'unknown'), status_code),
    attributes,
  }
  return {
    header: { type: 'log', item_count: 1, content_type: 'application/vnd.sentry.items.log+json' },
    payload: { items: [log] },
  }
}

function attributesOf(values: Readonly<Record<string, unknown>>): Record<string, Attribute> {
  const attributes: Record<string, Attribute> = {}
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string') attributes[name] = { type: 'string', value }
    else if (typeof value === 'number')
      attributes[name] = {
        type: Number.isSafeInteger(value) && !DOUBLES.has(name) ? 'integer' : 'double',
        value,
      }
  }
  return attributes
}

/**
 * Sentences for the types of w3.org/TR/network-error-logging §6, in our words. As in Relay, other types are their own sentence.
 */
const SENTENCES: ReadonlyMap<string, string> = new Map([
  ['dns.unreachable', 'The DNS server is unreachable'],
  ['dns.name_not_resolved', 'The DNS server cannot resolve the name'],
  ['dns.failed', 'The name could not be resolved'],
  ['dns.address_changed', 'The IP address is another than when the policy was received'],
  ['tcp.timed_out', 'The TCP connection timed out'],
  ['tcp.closed', 'The server closed the TCP connection'],
  ['tcp.reset', 'The TCP connection was reset'],
  ['tcp.refused', 'The server refused the TCP connection'],
  ['tcp.aborted', 'The TCP connection was ended by the browser'],
  ['tcp.address_invalid', 'The IP address cannot be used'],
  ['tcp.address_unreachable', 'There is no route to the IP address'],
  ['tcp.failed', 'The TCP connection could not be opened'],
  ['tls.version_or_cipher_mismatch', 'Browser and server share no TLS version or cipher'],
  ['tls.bad_client_auth_cert', 'The server rejected the certificate of the browser'],
  ['tls.cert.name_invalid', 'The certificate is for another name'],
  ['tls.cert.date_invalid', 'The certificate has expired, or is not valid yet'],
  ['tls.cert.authority_invalid', 'The certificate is of an unknown authority'],
  ['tls.cert.invalid', 'The certificate is not valid'],
  ['tls.cert.revoked', 'The certificate was revoked'],
  ['tls.cert.pinned_key_not_in_cert_chain', 'The certificate has none of the pinned keys'],
  ['tls.protocol.error', 'Browser or server violated the TLS protocol'],
  ['tls.failed', 'The TLS connection could not be opened'],
  ['http.protocol.error', 'The server violated the HTTP protocol'],
  ['http.response.invalid', 'The response cannot be read'],
  ['http.response.redirect_loop', 'The responses redirect in a loop'],
  ['http.failed', 'The HTTP request failed'],
  ['abandoned', 'The visitor left before the response was complete'],
  ['unknown', 'The cause is unknown'],
])

function messageOf(type: string, status: unknown): string {
  if (type === 'http.error') return `The response has the status ${String(status ?? 'unknown')}`
  return SENTENCES.get(type) ?? type
}
