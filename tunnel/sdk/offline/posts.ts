/** Posts of envelopes to the tunnel. */

import type { BaseTransportOptions, TransportMakeRequestResponse } from '@sentry/core'
import type { LoaderConfig } from '../handover.ts'

export type PostOptions = BaseTransportOptions & {
  fetchOptions?: RequestInit
  bufferSize: number
  privacy?: LoaderConfig['privacy']
}

/** Rejection code with 503 that another attempt would get too; the tunnel counts it as lost. */
const FINAL_CODE = 'tunnel-failed'
/** Rejection code with 429 when a limit of the tunnel or of nginx was reached, and not one of Sentry. */
const THROTTLED = 'throttled'
/** Tells the tunnel that the envelope is not lost when it answers with 408, 429 or 503. */
const KEEP = 'keep=1'
/** nginx allows 50 concurrent requests per client address. */
const MAX_IN_FLIGHT = 15
/** Browsers fail keepalive requests above 64 KiB in total. */
const MAX_KEEPALIVE_BYTES = 60_000
const MAX_KEEPALIVE_REQUESTS = 15
/** Timeout of the post of a stored envelope, long enough for 1 MB on a slow connection: one without a response must not hold back others. */
const KEPT_POST_MS = 300_000

// The original function: posts of the SDK must not leave breadcrumbs and spans.
const send = globalThis.fetch

/** Response after which the envelope has to be sent again. */
export class NotAccepted extends Error {
  readonly status: number
  readonly rateLimits: string | null
  /** The tunnel has reported the loss to Sentry. */
  readonly isReported: unknown

  constructor(status: number, rateLimits: string | null, isReported: unknown) {
    super()
    this.status = status
    this.rateLimits = rateLimits
    this.isReported = isReported
  }
}

/** Reports whether the browser may lose a short post of a page that is being closed: Chromium loses some that a service worker would send. */
export function mayLosePosts(): boolean {
  return !navigator.onLine || Boolean(navigator.serviceWorker?.controller)
}

/** Posts envelopes, a few at a time. */
export class Posts {
  readonly #options: PostOptions
  readonly #waiting: (() => void)[] = []
  #inFlight = 0
  /** Bytes of the bodies in flight. */
  #size = 0

  constructor(options: PostOptions) {
    this.#options = options
  }

  /** Reports whether a browser would complete the post of a page that is being closed. */
  canOutlivePage(body: string | Uint8Array): boolean {
    return isKeepalive(this.#size + sizeOf(body), this.#inFlight + 1)
  }

  /**
   * Resolves to a response that is final. Rejects with `NotAccepted`, and with the error of `fetch`. Calls `onStart` when the post begins, with
   * whether a browser would complete it if the page is closed.
   */
  async post(
    body: string | Uint8Array,
    isKept: boolean,
    onStart: (isKeepalive: boolean) => void,
  ): Promise<TransportMakeRequestResponse> {
    if (this.#inFlight >= MAX_IN_FLIGHT) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#inFlight++
    const size = sizeOf(body)
    this.#size += size
    try {
      const keepalive = isKeepalive(this.#size, this.#inFlight)
      onStart(keepalive)
      return await this.#fetch(body, isKept, keepalive)
    } finally {
      this.#size -= size
      const next = this.#waiting.shift()
      if (next) next()
      else this.#inFlight--
    }
  }

  async #fetch(
    body: string | Uint8Array,
    isKept: boolean,
    keepalive: boolean,
  ): Promise<TransportMakeRequestResponse> {
    const { url, headers, fetchOptions } = this.#options
    const response = await send.call(globalThis, isKept ? withKeep(url) : url, {
      body: body as BodyInit,
      method: 'POST',
      referrerPolicy: 'strict-origin',
      ...(headers && { headers }),
      keepalive,
      ...(isKept && { signal: AbortSignal.timeout?.(KEPT_POST_MS) }),
      ...fetchOptions,
    })
    const { status } = response
    const rateLimits = response.headers.get('X-Sentry-Rate-Limits')
    if (status >= 500 || status === 408 || status === 429) {
      // A proxy before Culvert may send other bodies, a bare 429, and statuses of its own such as 520.
      const { code, reported } = (await response.json().catch(() => undefined)) ?? {}
      const isFinal = status === 429 ? rateLimits !== null && code !== THROTTLED : code === FINAL_CODE
      if (!isFinal) throw new NotAccepted(status, rateLimits, reported)
    }
    return {
      statusCode: status,
      headers: { 'x-sentry-rate-limits': rateLimits, 'retry-after': response.headers.get('Retry-After') },
    }
  }
}

function withKeep(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${KEEP}`
}

function isKeepalive(bytes: number, requests: number): boolean {
  return bytes <= MAX_KEEPALIVE_BYTES && requests < MAX_KEEPALIVE_REQUESTS
}

function sizeOf(body: string | Uint8Array): number {
  return new Blob([body as BlobPart]).size
}
