/** Checks that bodies from browsers reach the tunnel unmodified, and that too large ones are rejected early. */

import { gzipSync } from 'node:zlib'
import type { AdminClient } from '../admin-client.ts'
import { type Check, type Finding, fail, pass, warn, warnWith, withDsn } from '../check.ts'
import { receiptToken } from '../deployment.ts'
import { errorEnvelope, replayEnvelope, reportEnvelope } from '../envelopes.ts'
import { type HttpResponse, jsonOf, send, sendIfUp, summarize } from '../request.ts'
import { describeRefusal, findRefusalFromHere, refusalOf } from './refusals.ts'
import { servesTunnelOnly } from './routes.ts'

const KIB = 1024
const COMPRESSIBLE_BYTES = 4 * KIB
const MIB = 1024 * KIB
const GIB = 1024 * MIB

const REJECTION_TIMEOUT_MS = 5_000

/** Bytes below `MAX_ENVELOPE_BYTES`, and below the 100 MB of some CDNs. */
const LARGE_BYTES = 99_000_000
const LARGE_TIMEOUT_MS = 1_000

export const error: Check = {
  name: 'error',
  after: ['tunnel'],
  title: 'The tunnel accepts an error',
  verifies: 'An error passes the proxy and the checks of the tunnel, and is delivered or spooled.',
  remedy:
    'Look the rejection code up in docs/api.md. A response without one is that of Sentry, and says why. dsn-unknown: give web and the tunnel the same SENTRY_DSN. Spooled: Sentry is unavailable or slow; see /status.',
  run: withDsn(async ({ post, run }, dsn) => {
    const response = await post(errorEnvelope(dsn, run), { label: 'the error' })
    if (isDeclinedBySentry(response)) return describeRefusal(response.status, dsn, jsonOf(response).detail)
    const finding = accepted(response)
    return finding.result === 'warn' ? ((await findRefusalFromHere(dsn)) ?? finding) : finding
  }),
}

export const replay: Check = {
  name: 'replay',
  after: ['tunnel', 'error'],
  title: 'The tunnel accepts a binary replay',
  verifies: 'The proxy forwards bytes unmodified: decoding a body as text would break the envelope.',
  remedy:
    'Let nothing between the browser and the tunnel read the body as text: no JSON middleware, no web application firewall that rewrites bodies.',
  run: withDsn(async ({ post, run }, dsn) =>
    accepted(await post(replayEnvelope(dsn, run), { label: 'the replay' })),
  ),
}

export const keepalive: Check = {
  name: 'keepalive',
  after: ['tunnel', 'error'],
  title: 'The tunnel accepts a body of 64 KiB',
  verifies: 'A browser can send up to 64 KiB while a page closes. The proxy accepts this size.',
  remedy: 'Raise the body size that the proxy accepts to MAX_ENVELOPE_BYTES.',
  run: withDsn(async ({ post, run }, dsn) => accepted(await post(reportEnvelope(dsn, run, 64 * KIB)))),
}

export const compression: Check = {
  name: 'compression',
  after: ['tunnel', 'error'],
  title: 'Compression works in both directions',
  verifies:
    'The tunnel accepts compressed reports, Sentry accepts the encoding in UPSTREAM_ENCODING, and the proxy compresses pages.',
  remedy:
    'Let the proxy forward Content-Encoding of requests unmodified, and compress documents and scripts (gzip on in nginx.conf).',
  run: withDsn(async ({ admin, page, post, run, site }, dsn) => {
    const body = gzipSync(reportEnvelope(dsn, run))
    const finding = accepted(await post(body, { headers: { 'content-encoding': 'gzip' } }))
    if (finding.result !== 'pass') return finding
    const compressible = accepted(await post(reportEnvelope(dsn, run, COMPRESSIBLE_BYTES)))
    if (compressible.result !== 'pass') return compressible
    const refusal = await refusedEncoding(admin, new URL(dsn).host)
    if (refusal) return refusal
    if (page && servesTunnelOnly(page)) return finding
    const { headers } = await send(`${site}/`, {
      headers: { accept: 'text/html', 'accept-encoding': 'gzip' },
    })
    return headers['content-encoding'] === undefined
      ? warn('The tunnel accepts a report with gzip, but the page is not compressed.')
      : pass(`The tunnel accepts a report with gzip, and the page uses ${headers['content-encoding']}.`)
  }),
}

/** Finds a replica whose `UPSTREAM_ENCODING` the Sentry at `host` refuses. It compresses reports of at least 1 KiB. */
async function refusedEncoding(admin: AdminClient | undefined, host: string): Promise<Finding | undefined> {
  for (const { upstreams } of (await admin?.statuses()) ?? [])
    for (const { origin, compression } of upstreams)
      if (compression?.is_refused && new URL(origin).host === host)
        return warnWith(
          `${origin} does not accept ${compression.encoding}: it gets envelopes uncompressed.`,
          'Set UPSTREAM_ENCODING to off.',
        )
  return undefined
}

/** Reports whether a response of the tunnel is that of Sentry, which has no rejection code. */
function isDeclinedBySentry(response: HttpResponse): boolean {
  const isOfTunnel = receiptToken(response) !== undefined && refusalOf(response.status) !== undefined
  return isOfTunnel && jsonOf(response).code === undefined
}

const SPOOLED_REMEDY =
  'The body has reached the tunnel. Sentry is unavailable or slow: the console and /status show its last error.'

/** Judges the response to an envelope that the tunnel should accept. */
function accepted(response: HttpResponse): Finding {
  if (response.status >= 300)
    return fail(`The response is ${summarize(response)}. ${jsonOf(response).detail ?? ''}`.trim())
  if (receiptToken(response) === undefined)
    return fail(`${response.status}, but not from a tunnel: the response has no receipt.`)
  if (response.headers['x-culvert-outcome'] === 'spooled')
    return warnWith('The envelope is spooled, since Sentry did not accept it yet.', SPOOLED_REMEDY)
  return pass(`${response.status} after ${response.durationMs.toFixed(0)} ms.`)
}

export const largeBody: Check = {
  name: 'large-body',
  after: ['tunnel', 'error'],
  title: 'Large bodies reach the tunnel',
  verifies:
    'The proxy passes a body of 2 MiB on, and does not reject one of 99 MB by its Content-Length. nginx limits bodies to 1 MB by default, and replays are larger.',
  remedy: 'Set client_max_body_size, or its equivalent in your proxy and CDN, to MAX_ENVELOPE_BYTES.',
  run: withDsn(async ({ post, run, site, target }, dsn) => {
    // The tunnel rejects a client report of more than 100 KiB, so that nothing goes to Sentry.
    const response = await post(reportEnvelope(dsn, run, 2 * MIB))
    if (jsonOf(response).code !== 'item-too-large')
      return fail(`The response to 2 MiB is ${summarize(response)}: the body did not reach the tunnel.`)
    const headers = { 'content-length': `${LARGE_BYTES}`, expect: '100-continue', origin: site }
    const options = { method: 'POST', headers, timeoutMs: LARGE_TIMEOUT_MS }
    const rejection = await sendIfUp(`${site}${target}`, options) // none from a proxy that waits for the body
    if (rejection?.status === 413 && jsonOf(rejection).code === undefined)
      return fail(`The response to 99 MB is ${summarize(rejection)}: the proxy has a lower limit.`)
    return pass('The body reached the tunnel, and one of 99 MB is not rejected by the proxy.')
  }),
}

export const bodyTooLarge: Check = {
  name: 'body-too-large',
  after: ['tunnel'],
  title: 'The proxy rejects a body of 1 GiB immediately, with a JSON response',
  verifies: 'Clients cannot send without a limit, and developers see which limit they exceed.',
  remedy: 'Let the proxy answer bodies larger than MAX_ENVELOPE_BYTES with 413 and the JSON of nginx.conf.',
  /** Announces a body of more than 1 GiB and sends none of it. */
  async run({ site, target }) {
    const headers = {
      'content-length': String(GIB + 1),
      'content-type': 'text/plain;charset=UTF-8',
      origin: site,
    }
    const options = { method: 'POST', headers, timeoutMs: REJECTION_TIMEOUT_MS }
    const response = await sendIfUp(`${site}${target}`, options)
    if (!response)
      return warn(
        'The proxy reads a whole body of any size before it passes it on or answers: clients can fill its memory or its disk.',
      )
    if (response.status !== 413) return fail(`The response to 1 GiB is ${summarize(response)}, not 413.`)
    if (jsonOf(response).code !== 'envelope-too-large')
      return warn(`The body is rejected, but with ${summarize(response)}.`)
    return pass('413 envelope-too-large, before any of the body was sent.')
  },
}
