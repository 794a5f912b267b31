/** Sends HTTP requests with arbitrary headers, and reads responses within a timeout and a size limit. */

import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'

export type RequestOptions = {
  method?: string
  headers?: Record<string, string>
  body?: Buffer
  /** Timeout for the whole exchange. */
  timeoutMs?: number
}

export type HttpResponse = {
  status: number
  headers: IncomingHttpHeaders
  /** Body in its content encoding. */
  bytes: Buffer
  text: string
  /** Time until the response was complete. */
  durationMs: number
}

/** Error of a server that does not listen, closed the connection or was too slow; the message is a sentence. */
export class NoResponse extends Error {}

/** The server has a certificate that browsers and this machine refuse. */
export class WrongCertificate extends NoResponse {}

/** Faults of certificates by error code of OpenSSL or Node, with their remedies. */
const CERTIFICATE_FAULTS: readonly [codes: RegExp, fault: string, remedy: string][] = [
  [
    /SELF_SIGNED|^UNABLE_TO_/,
    'that this machine does not trust',
    'If an authority of your own has signed it, set NODE_EXTRA_CA_CERTS to the file of that authority.',
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    'that has expired',
    'Renew it, and have the server load the new one. If it is new, correct the clock of this machine.',
  ],
  [
    /^CERT_NOT_YET_VALID$/,
    'that is not valid yet',
    'Correct the clock of this machine, or wait until the certificate is valid.',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'for another name',
    'Get one for this name, or name the site as its certificate does.',
  ],
  [/^CERT_|^INVALID_(CA|PURPOSE)$/, 'that is not valid', 'Replace it.'],
]

const TIMEOUT_MS = 20_000
const MAX_BYTES = 1024 * 1024 // of a response; the rest is discarded

/** Sends a request; redirects are not followed. Throws `NoResponse`. */
export async function send(url: string, options: RequestOptions = {}): Promise<HttpResponse> {
  const { method = 'GET', headers = {}, body, timeoutMs = TIMEOUT_MS } = options
  const began = performance.now()
  const signal = AbortSignal.timeout(timeoutMs)
  const start = url.startsWith('https:') ? requestTls : request
  const outgoing = start(url, { method, signal, headers, agent: false })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.on('response', resolve).on('error', reject)
  outgoing.on('continue', () => outgoing.destroy(new Error('it waits for the body'))) // only after Expect: 100-continue
  if (body === undefined && headers['content-length'] !== undefined)
    outgoing.flushHeaders() // announces a body and sends none
  else outgoing.end(body)
  try {
    const response = await promise
    const bytes = await readBody(response)
    const status = response.statusCode ?? 0
    const durationMs = performance.now() - began
    return { status, headers: response.headers, bytes, text: bytes.toString(), durationMs }
  } catch (error) {
    throw describeError(url, error as NodeJS.ErrnoException, signal, timeoutMs)
  } finally {
    outgoing.destroy() // discards the rest of the response
  }
}

/** Sends a request; `undefined` when there is no response. */
export async function sendIfUp(url: string, options?: RequestOptions): Promise<HttpResponse | undefined> {
  try {
    return await send(url, options)
  } catch (error) {
    if (error instanceof NoResponse) return undefined
    throw error
  }
}

/** Reads the body of a response up to the limit, or up to the point at which the connection broke. */
async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_BYTES) break
    }
  } catch {} // the status and the headers suffice for most checks
  return Buffer.concat(chunks)
}

function describeError(
  url: string,
  { message, code }: NodeJS.ErrnoException,
  signal: AbortSignal,
  timeoutMs: number,
): NoResponse {
  const { host } = new URL(url)
  if (signal.aborted) return new NoResponse(`${host} did not respond within ${timeoutMs / 1000} s.`)
  const [, fault, remedy] = CERTIFICATE_FAULTS.find(([codes]) => codes.test(code ?? '')) ?? []
  if (fault !== undefined)
    return new WrongCertificate(`${host} has a certificate ${fault} (${code}). ${remedy}`)
  return new NoResponse(`${host} did not respond (${code ?? message}).`)
}

/** Returns the JSON object in a response; an empty one where there is none. */
export function jsonOf({ text }: HttpResponse): Record<string, unknown> {
  try {
    const json = JSON.parse(text)
    return typeof json === 'object' && json !== null ? json : {}
  } catch {
    return {}
  }
}

/** Returns text like `403 dsn-unknown` or `413 text/html`. */
export function summarize(response: HttpResponse): string {
  const { code } = jsonOf(response)
  const type = response.headers['content-type'] ?? 'without a body'
  return `${response.status} ${typeof code === 'string' ? code : type}`
}
