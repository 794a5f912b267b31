/** Log of a network error, with the attributes that Relay's `/nel/` endpoint writes (relay-event-normalization, `create_log`). */

import type { BrowserReport } from './report-types.ts'

type Item = { header: object; payload: object }
type Attribute = { type: 'string' | 'double' | 'integer'; value: string | number }

/** Builds an item `log` with one log. Its trace ID is nil, as in Relay: no trace belongs to the report. */
export function networkLogOf(
  { url, body, ageMs }: BrowserReport,
  context: { time: number; release: string | undefined; environment: string },
): Item {
  const { phase, type, method, protocol, referrer, status_code, server_ip, elapsed_time, sampling_fraction } =
    body
  const attributes = attributesOf({
    'sentry.origin': 'auto.http.browser_reports.nel',
    'sentry.environment': context.environment,
    'sentry.release': context.release,
    report_type: 'network-error',
    'url.domain': URL.parse(url)?.hostname,
    'url.full': url,
    'http.request.duration': elapsed_time,
    'http.request.method': method,
    'http.request.header.referer': referrer,
    'http.response.status_code': status_code,
    'network.protocol': protocol,
    'server.address': server_ip,
    'nel.phase': phase,
    'nel.sampling_fraction': sampling_fraction,
    'nel.type': type,
  })
  const log = {
    timestamp: (context.time - ageMs) / 1000,
    trace_id: '0'.repeat(32),
    level: 'info',
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
      attributes[name] = { type: Number.isSafeInteger(value) ? 'integer' : 'double', value }
  }
  return attributes
}

/** Sentences for the predefined types (w3.org/TR/network-error-logging §6) that a site can act on; Relay has one for each. */
const SENTENCES: Readonly<Record<string, string>> = {
  'dns.unreachable': 'The DNS server is unreachable',
  'dns.name_not_resolved': 'The DNS server cannot resolve the name',
  'tcp.timed_out': 'The TCP connection timed out',
  'tcp.closed': 'The server closed the TCP connection',
  'tcp.reset': 'The TCP connection was reset',
  'tcp.refused': 'The server refused the TCP connection',
  'tcp.address_unreachable': 'The IP address is unreachable',
  'tls.version_or_cipher_mismatch': 'The TLS versions or ciphers do not match',
  'tls.cert.name_invalid': 'The certificate is for another name',
  'tls.cert.date_invalid': 'The certificate has expired, or is not valid yet',
  'tls.cert.authority_invalid': 'The certificate is of an unknown authority',
  'http.response.redirect_loop': 'The responses redirect in a loop',
  abandoned: 'The visitor left before the response was complete',
}

function messageOf(type: string, status: unknown): string {
  if (type === 'http.error') return `The response has the status ${String(status ?? 'unknown')}`
  return SENTENCES[type] ?? type
}
