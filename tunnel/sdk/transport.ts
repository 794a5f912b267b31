/** Transport that keeps envelopes in IndexedDB until the tunnel has accepted them. */

import type { BrowserOptions } from '@sentry/browser'
import {
  createTransport,
  type Envelope,
  envelopeContainsItemType,
  envelopeItemTypeToDataCategory,
  forEachEnvelopeItem,
  parseEnvelope,
  type Transport,
  type TransportMakeRequestResponse,
} from '@sentry/core'
import { NotAccepted, type PostOptions, Posts } from './offline/posts.ts'
import { backoffMs, EnvelopeStore, type Key, MAX_DELAY_MS } from './offline/store.ts'

type MakeTransport = NonNullable<BrowserOptions['transport']>

/** Bound of envelopes that wait for their response; the loader queues 100 reports beside 100 other calls. */
export const MAX_BUFFERED = 256

const RETRY_SPACING_MS = 100
/** Time for which the SDK drops envelopes after a rate limit of the tunnel (10 s), and a second more. */
const HOLD_MS = 11_000

/** Stores envelopes in a database per project, since the projects of one origin have different tunnel URLs. */
export const makeTransport: MakeTransport = (options) => new StoringTransport(options as PostOptions)

/** Envelope that is being sent. */
type Sending = {
  envelope: Envelope
  /** Key of an envelope from the store. */
  key?: Key
  isRequested?: true
}

/** Stores each envelope before it posts it, so that it is not lost when the page is closed. A final response removes it. */
class StoringTransport implements Transport {
  readonly #store: EnvelopeStore
  readonly #posts: Posts
  readonly #record: PostOptions['recordDroppedEvent']
  readonly #base: Transport
  readonly #bufferSize: number
  /** Argument of the call to `#base`. */
  #sending: Sending | undefined
  readonly #sendingKeys = new Set<string>()
  /** Envelopes in the buffer of `#base`. */
  #buffered = 0
  #isLeaving = false
  #isRetrying = false
  /** Failed posts in a row, without a response. `undefined` before the first post of this page or connection. */
  #failures: number | undefined
  /** Reads of the store in a row that failed, or took too long. */
  #failedReads = 0
  /** End of the time in which the SDK would drop stored envelopes. */
  #heldUntil = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Time of the next retry, on the clock that does not change. */
  #nextAt = Infinity

  constructor(options: PostOptions) {
    this.#store = new EnvelopeStore(`culvert-offline${new URL(options.url, location.href).search}`)
    this.#posts = new Posts(options)
    this.#record = options.recordDroppedEvent
    this.#bufferSize = options.bufferSize
    this.#base = createTransport(options, ({ body }) => {
      const sending = this.#sending as Sending // set by `#send`, which calls this at once
      sending.isRequested = true
      this.#buffered++
      return this.#request(body, sending).finally(() => this.#buffered--)
    })
    addEventListener('pagehide', () => {
      this.#isLeaving = true
    })
    addEventListener('pageshow', () => {
      this.#isLeaving = false
    })
    addEventListener('online', () => {
      this.#failures = undefined
      this.#retryIn(0)
    })
    this.#retryIn(RETRY_SPACING_MS)
  }

  send(envelope: Envelope): PromiseLike<TransportMakeRequestResponse> {
    return this.#send({ envelope })
  }

  flush(timeout?: number): PromiseLike<boolean> {
    if (timeout === undefined) this.#retryIn(0)
    return this.#base.flush(timeout)
  }

  #send(sending: Sending): PromiseLike<TransportMakeRequestResponse> {
    this.#sending = sending
    return this.#base.send(sending.envelope)
  }

  async #request(
    body: string | Uint8Array,
    { envelope, key }: Sending,
  ): Promise<TransportMakeRequestResponse> {
    const isReport = envelopeContainsItemType(envelope, ['event', 'feedback', 'user_report'])
    const isStorable = !envelopeContainsItemType(envelope, ['client_report'])
    // A closed page does not get the response: its envelope would stay stored after its arrival, and be sent twice.
    const isLast = this.#isLeaving && this.#posts.canOutlivePage(body)
    const adding = key || !isStorable || isLast ? undefined : this.#store.add(body, isReport)
    let stored = key ?? (this.#isLeaving ? undefined : adding && (await unlessLeft(adding)))
    const id = String(stored)
    this.#sendingKeys.add(id)
    try {
      const response = await this.#posts.post(body, stored !== undefined)
      stored ??= await adding
      if (stored) await this.#store.remove(stored)
      this.#noteResponse()
      return response
    } catch (error) {
      // A post without a response counts while there is a connection: the fault is that of the envelope.
      const isAttempt = error instanceof NotAccepted || (this.#failures === 0 && navigator.onLine)
      if (error instanceof NotAccepted) this.#noteResponse()
      else this.#failures = key ? (this.#failures ?? 0) + 1 : this.#failures || 1
      if (isStorable) stored ??= (await adding) ?? (await this.#store.add(body, isReport))
      if (stored && (await this.#store.postpone(stored, isAttempt))) {
        this.#retryIn(this.#delay())
        return { statusCode: 202 }
      }
      if (isStorable && !stored) this.#store.warn('the storage is full')
      if (error instanceof NotAccepted) {
        if (error.status === 429 && isReport) return this.#hold(error, body)
        if (error.isReported) return { statusCode: 503 }
      }
      throw error // the SDK reports it
    } finally {
      this.#sendingKeys.delete(id)
    }
  }

  #noteResponse(): void {
    if (this.#failures) this.#retryIn(RETRY_SPACING_MS)
    this.#failures = 0
  }

  /** Lets the SDK hold back reports that cannot be stored. Stored ones stay meanwhile. */
  #hold({ rateLimits, isReported }: NotAccepted, body: string | Uint8Array): TransportMakeRequestResponse {
    this.#heldUntil = Date.now() + HOLD_MS
    if (!isReported)
      forEachEnvelopeItem(parseEnvelope(body), (_, type) =>
        this.#record('ratelimit_backoff', envelopeItemTypeToDataCategory(type)),
      )
    return { statusCode: 429, headers: { 'x-sentry-rate-limits': rateLimits ?? '10', 'retry-after': null } }
  }

  /** Schedules the next retry, unless an earlier one is. */
  #retryIn(delayMs: number): void {
    const at = performance.now() + delayMs
    if (at >= this.#nextAt) return
    clearTimeout(this.#timer)
    this.#nextAt = at
    this.#timer = setTimeout(() => {
      this.#nextAt = Infinity
      void this.#retry()
    }, delayMs)
  }

  async #retry(): Promise<void> {
    if (this.#isRetrying) return
    this.#isRetrying = true
    const delayMs = await this.#sendStored()
    this.#isRetrying = false
    this.#retryIn(Math.min(delayMs, MAX_DELAY_MS))
  }

  /** Sends one stored envelope that is due, and returns the time until the next. */
  async #sendStored(): Promise<number> {
    const taken = await this.#store.take((key) => this.#sendingKeys.has(String(key)))
    if (!taken) return backoffMs(++this.#failedReads)
    this.#failedReads = 0
    if ('nextAt' in taken) return taken.nextAt - Date.now()
    if (this.#buffered >= this.#bufferSize || this.#heldUntil > Date.now()) {
      await this.#store.postpone(taken.key, false) // the SDK would drop it
      return backoffMs(1)
    }
    if (!(await this.#resend(taken))) await this.#store.remove(taken.key)
    return this.#delay()
  }

  /** Sends a stored envelope, and reports whether there was a post: none of a category whose rate Sentry limits, and none of an envelope that cannot be parsed. */
  async #resend({ key, body }: { key: Key; body: Uint8Array }): Promise<boolean> {
    let sending: Sending | undefined
    try {
      sending = { envelope: parseEnvelope(body), key }
      sending.envelope[0].sent_at = new Date().toISOString() // Sentry corrects times by it
      await this.#send(sending)
    } catch {} // the SDK has reported the loss
    return sending?.isRequested === true
  }

  /** Returns the time until the next retry, which doubles while there is no connection. */
  #delay(): number {
    return this.#failures ? backoffMs(this.#failures) : RETRY_SPACING_MS
  }
}

/** Resolves to the key of an envelope that is being stored; to `undefined` once the page is left, which may not wait for its database. */
function unlessLeft(adding: Promise<Key | undefined>): Promise<Key | undefined> {
  return new Promise((resolve) => {
    const leave = () => resolve(undefined)
    addEventListener('pagehide', leave, { once: true })
    void adding.then((key) => {
      removeEventListener('pagehide', leave)
      resolve(key)
    })
  })
}
