/** Sends alerts to their destinations, and fetches the heartbeat. */

import type { AlertTarget, MailTarget, WebhookTarget } from 'contract/alerts'
import { nameUpstreamError } from 'contract/situation/upstream-errors'
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici'
import type { ProxySettings } from '../../forward/upstream/upstream-client.ts'
import { upstreamErrorOf } from '../../forward/upstream/upstream-errors.ts'
import { type Alert, SendError } from './alert.ts'
import type { sendMail } from './email.ts'

const TIMEOUT_MS = 8_000
const CONNECT_MS = 5_000
const MAX_DISCORD = 2_000 // characters of a message

export class Senders {
  readonly #dispatcher: Dispatcher
  #sendMail: Promise<typeof sendMail> | undefined

  /** Follows no redirects. Certificates are verified. */
  constructor(proxies: ProxySettings | undefined) {
    const options = { connect: { timeout: CONNECT_MS }, allowH2: false }
    const { httpProxy = '', httpsProxy = '', noProxy = '' } = proxies ?? {}
    this.#dispatcher = proxies
      ? new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy })
      : new Agent(options)
  }

  /** Rejects with a `SendError`. */
  async send(target: AlertTarget, alert: Alert): Promise<void> {
    if (target.kind === 'email') await this.#mail(target, alert)
    else await this.#request(target.url, { body: JSON.stringify(bodyFor(target.kind, alert)) })
  }

  /** Rejects with a `SendError`. */
  async beat(url: URL): Promise<void> {
    await this.#request(url, {})
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy()
  }

  /** Loads the code that only email needs. */
  async #mail(target: MailTarget, alert: Alert): Promise<void> {
    this.#sendMail ??= import('./email.ts').then((module) => module.sendMail)
    const send = await this.#sendMail
    await send(target, alert)
  }

  async #request(url: URL, { body }: { body?: string }): Promise<void> {
    const status = await this.#statusOf(url, body).catch((error: unknown) => {
      throw new SendError(describeFailure(error))
    })
    if (status < 200 || status > 299) throw new SendError(describeStatus(status))
  }

  async #statusOf({ origin, pathname, search, username, password }: URL, body?: string): Promise<number> {
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    const response = await request(origin + pathname + search, {
      dispatcher: this.#dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'user-agent': 'Culvert',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(login !== ':' && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
      },
      body: body ?? null,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.body.dump()
    return response.statusCode
  }
}

function bodyFor(kind: WebhookTarget['kind'], alert: Alert): object {
  if (kind === 'json') return alert
  if (kind === 'slack') return { text: escapeForSlack(alert.text) }
  return { content: alert.text.slice(0, MAX_DISCORD), allowed_mentions: { parse: [] } }
}

/** Escapes links and mentions for Slack. */
function escapeForSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function describeStatus(status: number): string {
  const answer = `The server responded with HTTP ${status}`
  if (status < 400) return `${answer}: write the URL to which it leads.`
  if ([401, 403, 404, 410].includes(status))
    return `${answer}: copy the URL again, since it is wrong or was revoked.`
  if (status === 429) return `${answer}: it has had too many messages.`
  return status < 500
    ? `${answer}: check its kind, which slack+ or discord+ before https:// sets.`
    : `${answer}.`
}

function describeFailure(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return `The server did not respond within ${TIMEOUT_MS / 1000} s.`
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = upstreamErrorOf({ kind: 'undecided', reason: code, status: undefined })
  const name = nameUpstreamError({ class: 'other', ...known, first: 0, last: 0, count: 1 })
  return `The server cannot be reached (${name}).`
}
