/** Posts of envelopes to the tunnel. */

import type { BaseTransportOptions, TransportMakeRequestResponse } from '@sentry/core'

export type PostOptions = BaseTransportOptions & { fetchOptions?: RequestInit }

/** Responses of nginx and the tunnel when neither Sentry nor the spool has the envelope. */
const NOT_ACCEPTED = [502, 503, 504]
/** Rejection codes with 503 that another attempt would get too; the tunnel counts them as lost. */
const FINAL_CODES = ['tunnel-failed', 'inbox-full']
/** Tells the tunnel that the envelope is not lost when it answers with 503. */
const KEEP = 'keep=1'
/** nginx allows 20 connections per client address. */
const MAX_IN_FLIGHT = 15
/** Browsers fail keepalive requests above 64 KiB in total. */
const MAX_KEEPALIVE_LENGTH = 60_000
const MAX_KEEPALIVE_REQUESTS = 15

// The original function: posts of the SDK must not leave breadcrumbs and spans.
const send = globalThis.fetch

/** Response after which the envelope has to be sent again. */
export class NotAccepted extends Error {
  readonly status: number

  constructor(status: number) {
    super(`The tunnel responded with ${status}.`)
    this.status = status
  }
}

/** Posts envelopes, a few at a time. */
export class Posts {
  readonly #options: PostOptions
  readonly #waiting: (() => void)[] = []
  #inFlight = 0
  #length = 0

  constructor(options: PostOptions) {
    this.#options = options
  }

  /** Resolves to a response that is final. Rejects with `NotAccepted`, and with the error of `fetch`. */
  async post(body: string | Uint8Array, isKept: boolean): Promise<TransportMakeRequestResponse> {
    if (this.#inFlight >= MAX_IN_FLIGHT) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#inFlight++
    this.#length += body.length
    try {
      return await this.#fetch(body, isKept)
    } finally {
      this.#length -= body.length
      const next = this.#waiting.shift()
      if (next) next()
      else this.#inFlight--
    }
  }

  async #fetch(body: string | Uint8Array, isKept: boolean): Promise<TransportMakeRequestResponse> {
    const { url, headers, fetchOptions } = this.#options
    const response = await send.call(globalThis, isKept ? withKeep(url) : url, {
      body: body as BodyInit,
      method: 'POST',
      referrerPolicy: 'strict-origin',
      ...(headers && { headers }),
      keepalive: this.#length <= MAX_KEEPALIVE_LENGTH && this.#inFlight < MAX_KEEPALIVE_REQUESTS,
      ...fetchOptions,
    })
    const { status } = response
    if (NOT_ACCEPTED.includes(status) && !(await isFinal(response))) throw new NotAccepted(status)
    return {
      statusCode: status,
      headers: {
        'x-sentry-rate-limits': response.headers.get('X-Sentry-Rate-Limits'),
        'retry-after': response.headers.get('Retry-After'),
      },
    }
  }
}

function withKeep(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${KEEP}`
}

/** Reads the rejection code in the body. A proxy before Culvert may send another body. */
async function isFinal(response: Response): Promise<boolean> {
  const rejection = await response.json().catch(() => undefined)
  return FINAL_CODES.includes(rejection?.code)
}
