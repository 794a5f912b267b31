/** Servers that refuse the envelopes of a project: a wrong key, a host that they do not expect, a wrong number of addresses. */

import { envelopeUrl, parseDsn } from 'contract/dsn'
import { type Finding, fail, failWith } from '../check.ts'
import { type HttpResponse, sendIfUp } from '../request.ts'

const ADDRESS = '192.0.2.77' // of documentation (RFC 5737)

const KEY_REMEDY =
  'The key in SENTRY_DSN is wrong, or the project was deleted: copy the DSN from the settings of the project again. If a proxy is in front of the server, it may ask for a password.'
const PAGE_REMEDY =
  'A server other than Sentry responds: check the host and port in SENTRY_DSN, and the proxy in front of the server.'
const HOSTS_REMEDY = 'Bugsink and other servers on Django: add the host of SENTRY_DSN to ALLOWED_HOSTS there.'
const COUNT_REMEDY =
  'Bugsink with USE_X_FORWARDED_FOR: Culvert sends one address, so set X_FORWARDED_FOR_PROXY_COUNT there to 1, and one more for each proxy in front of it. See docs/other-servers.md.'

/** Returns a status that refuses an envelope for good. A 429 is a rate limit, and the others ask to try again. */
export function refusalOf(status: number): number | undefined {
  return status >= 400 && status < 500 && ![408, 421, 425, 429].includes(status) ? status : undefined
}

/** Asks the server of a DSN from this machine. Returns a failure if it refuses, and `undefined` also where it is not reached. */
export async function findRefusalFromHere(dsn: string): Promise<Finding | undefined> {
  const response = await ask(dsn, { 'x-forwarded-for': ADDRESS })
  if (!response) return undefined
  const { status, headers } = response
  const isPage = status < 300 && headers['content-type']?.startsWith('text/html')
  if (isPage)
    return failWith(`The server of the DSN responds with ${status} and a page in HTML.`, PAGE_REMEDY)
  const refusal = refusalOf(status)
  return refusal === undefined ? undefined : describeRefusal(refusal, dsn)
}

/** Describes a refusal, with the cause as far as the server shows it to this machine. `detail` is the one of Sentry's own answer. */
export async function describeRefusal(status: number, dsn: string, detail?: unknown): Promise<Finding> {
  const said = typeof detail === 'string' && detail !== '' ? ` (“${detail}”)` : ''
  const message = `The server of the DSN responds with ${status} to the error${said}.`
  if (status === 401 || status === 403 || status === 404) return failWith(message, KEY_REMEDY)
  if (status !== 400 || said !== '') return fail(message)
  const [bare, forwarded] = [await ask(dsn, {}), await ask(dsn, { 'x-forwarded-for': ADDRESS })]
  const isCount = bare?.status === 200 && forwarded?.status === 400
  return isCount
    ? failWith(`${message} Without X-Forwarded-For it accepts it.`, COUNT_REMEDY)
    : failWith(message, `${HOSTS_REMEDY} ${COUNT_REMEDY}`)
}

/** Posts an envelope without items, of which a server stores nothing. */
async function ask(text: string, headers: Record<string, string>): Promise<HttpResponse | undefined> {
  const dsn = parseDsn(text)
  if (!dsn) return undefined
  return sendIfUp(envelopeUrl(dsn), {
    method: 'POST',
    headers: { 'content-type': 'application/x-sentry-envelope', ...headers },
    body: Buffer.from('{}\n'),
  })
}
