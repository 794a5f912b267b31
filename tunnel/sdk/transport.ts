/** Transport that keeps envelopes in IndexedDB until the tunnel has accepted them. */

import type { BrowserOptions } from '@sentry/browser'
import {
  createTransport,
  type Envelope,
  envelopeContainsItemType,
  envelopeItemTypeToDataCategory,
  forEachEnvelopeItem,
  parseEnvelope,
  serializeEnvelope,
  type Transport,
  type TransportMakeRequestResponse,
} from '@sentry/core'
import { storeName } from './offline/local.ts'
import { Outbox } from './offline/outbox.ts'
import { mayLosePosts, NotAccepted, type PostOptions, Posts } from './offline/posts.ts'
import { permitted } from './offline/privacy.ts'
import { backoffMs, EnvelopeStore, type Key, MAX_DELAY_MS } from './offline/store.ts'

type MakeTransport = NonNullable<BrowserOptions['transport']>

/** Bound of envelopes that wait for their response; the loader queues 100 reports beside 100 other calls. */
export const MAX_BUFFERED = 256

const RETRY_SPACING_MS = 100
const MAX_SPREAD_MS = 1_000
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

/** Envelope whose post is under way, or waits for others. */
type Posting = {
  envelope: Envelope
  body: string | Uint8Array
  isReport: boolean
  /** Key in the store. */
  stored: Key | undefined
  /** Key in the outbox. */
  kept: string | undefined
  /** A browser would complete the post if the page is closed. */
  isKeepalive: boolean
}

/** Stores each envelope before it posts it, so that it is not lost when the page is closed. A final response removes it. */
class StoringTransport implements Transport {
  readonly #store: EnvelopeStore
  readonly #outbox: Outbox
  readonly #posts: Posts
  readonly #privacy: PostOptions['privacy']
  readonly #record: PostOptions['recordDroppedEvent']
  readonly #base: Transport
  readonly #bufferSize: number
  /** Argument of the call to `#base`. */
  #sending: Sending | undefined
  readonly #sendingKeys = new Set<string>()
  /** Posts of envelopes that can be kept. */
  readonly #postings = new Set<Posting>()
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
  /** Delay that differs between tabs, so that one of them takes what a page has kept, and not all at the same time. */
  readonly #spreadMs = Math.random() * MAX_SPREAD_MS

  constructor(options: PostOptions) {
    const name = storeName(new URL(options.url, location.href).search)
    this.#store = new EnvelopeStore(name)
    this.#outbox = new Outbox(name)
    this.#privacy = options.privacy
    this.#posts = new Posts(options)
    this.#record = options.recordDroppedEvent
    this.#bufferSize = options.bufferSize
    this.#base = createTransport(options, ({ body }) => {
      const sending = this.#sending as Sending // set by `#send`, which calls this at once
      sending.isRequested = true
      this.#buffered++
      return this.#request(body, sending).finally(() => this.#buffered--)
    })
    addEventListener('pagehide', () => this.#leave(), true) // before the listeners of the page
    addEventListener('pageshow', () => {
      this.#isLeaving = false
      this.#store.stay()
      this.#retryIn(0)
    })
    addEventListener('online', () => {
      this.#failures = undefined
      this.#retryIn(0)
    })
    this.#outbox.onKept(() => this.#retryIn(this.#spreadMs))
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
    const adding = key || !isStorable || this.#isLeaving ? undefined : this.#store.addSoon(body, isReport)
    const stored = key ?? (adding && (await unlessLeft(adding)))
    const posting: Posting = { envelope, body, isReport, stored, kept: undefined, isKeepalive: false }
    if (this.#isLeaving && isStorable && !stored) {
      // A closed page does not get the response: an envelope that was kept would arrive twice, which Sentry notices of events only.
      const isCompleted = this.#posts.canOutlivePage(body)
      if (!isCompleted || (isReport && mayLosePosts())) this.#keep(posting)
      if (!isCompleted && posting.kept) {
        this.#outbox.release(posting.kept)
        return { statusCode: 202 }
      }
    }
    const id = String(stored)
    this.#sendingKeys.add(id)
    if (isStorable) this.#postings.add(posting)
    try {
      const isKept = stored !== undefined || posting.kept !== undefined
      const onStart = (isKeepalive: boolean) => {
        posting.isKeepalive = isKeepalive
      }
      const response = await this.#posts.post(body, isKept, onStart)
      posting.stored ??= await adding
      if (posting.stored) await this.#store.remove(posting.stored)
      if (posting.kept) this.#outbox.remove(posting.kept)
      this.#noteResponse()
      return response
    } catch (error) {
      // A post without a response counts while there is a connection: the fault is that of the envelope.
      const isAttempt = error instanceof NotAccepted || (this.#failures === 0 && navigator.onLine)
      if (error instanceof NotAccepted) this.#noteResponse()
      else this.#failures = key ? (this.#failures ?? 0) + 1 : this.#failures || 1
      const isHeld = isStorable && (await this.#hold(posting, adding))
      if (posting.stored && (await this.#store.postpone(posting.stored, isAttempt))) {
        this.#retryIn(this.#delay())
        return { statusCode: 202 }
      }
      if (isHeld && !posting.stored) return { statusCode: 202 }
      if (isStorable && !isHeld) this.#store.warn('the storage is full')
      if (error instanceof NotAccepted) {
        if (error.status === 429 && isReport) return this.#throttle(error, body)
        if (error.isReported) return { statusCode: 503 }
      }
      throw error // the SDK reports it
    } finally {
      this.#postings.delete(posting)
      if (posting.kept) this.#outbox.release(posting.kept)
      this.#sendingKeys.delete(id)
    }
  }

  /** Stores an envelope that was not accepted. Resolves to `false` if it cannot be stored. */
  async #hold(posting: Posting, adding: Promise<Key | undefined> | undefined): Promise<boolean> {
    posting.stored ??= await adding
    if (posting.stored) return true
    const { kept } = posting
    if (kept && !this.#outbox.remove(kept)) return true // another page has taken it meanwhile
    posting.kept = undefined
    posting.stored = await this.#store.add(posting.body, posting.isReport)
    if (!posting.stored && this.#isLeaving) this.#keep(posting)
    return posting.stored !== undefined || posting.kept !== undefined
  }

  /** Keeps what is not stored, and what the browser would not send, until the next visit. */
  #leave(): void {
    this.#isLeaving = true
    this.#store.leave()
    for (const posting of this.#postings) {
      const { stored, kept, isReport, isKeepalive } = posting
      if (!stored && !kept && (!isKeepalive || (isReport && mayLosePosts()))) this.#keep(posting)
    }
  }

  #keep(posting: Posting): void {
    const { envelope, body, isReport } = posting
    const allowed = permitted(envelope, this.#privacy)
    if (!allowed) return
    posting.kept = this.#outbox.put(allowed === envelope ? body : serializeEnvelope(allowed), isReport)
  }

  #noteResponse(): void {
    if (this.#failures) this.#retryIn(RETRY_SPACING_MS)
    this.#failures = 0
  }

  /** Lets the SDK hold back reports that cannot be stored. Stored ones stay meanwhile. */
  #throttle(
    { rateLimits, isReported }: NotAccepted,
    body: string | Uint8Array,
  ): TransportMakeRequestResponse {
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
    this.#sendKept()
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

  /** Sends what earlier pages have kept while they were being closed. It is stored first, as any envelope. */
  #sendKept(): void {
    if (!this.#isLeaving) for (const body of this.#outbox.take()) void this.#resend({ body })
  }

  /**
   * Sends an envelope again, and reports whether there was a post: none of a category whose rate Sentry limits, none that the visitor's
   * privacy signal forbids by now, and none of an envelope that cannot be parsed.
   */
  async #resend({ key, body }: { key?: Key; body: string | Uint8Array }): Promise<boolean> {
    let sending: Sending | undefined
    try {
      const envelope = permitted(parseEnvelope(body), this.#privacy)
      if (!envelope) return false
      sending = { envelope, ...(key && { key }) }
      envelope[0].sent_at = new Date().toISOString() // Sentry corrects times by it
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
