/** One request to Sentry from its start to its end, and what its answer means. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Timeout, Timeouts } from '../timer-queue.ts'
import type { RequestResult } from './breaker.ts'

/** What Sentry answered, as far as it goes on to the sender. */
export type UpstreamResponse = {
  status: number
  /** As it came. */
  body: Buffer<ArrayBuffer>
  contentType: string | undefined
  retryAfter: string | undefined
  rateLimits: string | undefined
}

export type DeliveryResult =
  /** Sentry took it, declined it, or asked to hold back: its answer stands. */
  | { kind: 'answered'; reply: UpstreamResponse }
  /** Sentry did not decide: not reached, too slow, or an answer that is none of Sentry's (`DESIGN.md` §3). */
  | {
      kind: 'undecided'
      reason: string
      status: number | undefined
      /** Sets our own back-off, and goes to no browser. */
      retryAfterMs?: number | undefined
      rateLimits?: string | undefined
    }

/** What was to be sent could not be read to its end: purged meanwhile, or on a disk that fails. It says nothing of Sentry. */
export class UnreadableBody extends Error {}
export const UNREADABLE = 'body-unreadable'

const MAX_REPLY_BYTES = 64 * 1024 // Sentry's answers hold a few dozen bytes

/** Who hears how exchanges with one Sentry go. */
export type RequestListeners = {
  /** Whether it was prompt, once for each. */
  note: (verdict: RequestResult) => void
  /** What came of it, once for each. */
  learn: (delivery: DeliveryResult) => void
}

/** Milliseconds that an answer may take once it is late, and the clock that tells when it is. */
export type RequestDeadlines = { late: Timeouts; afterLateMs: number }

/** The handler that undici tells of the answer. Neither promise rejects, whatever the network or Sentry does. */
export class UpstreamRequest implements Dispatcher.DispatchHandler {
  /** What came of it, or that it is late: by then nobody should wait any longer. */
  readonly soon: Promise<DeliveryResult | 'late'>
  #resolveSoon!: (outcome: DeliveryResult | 'late') => void
  #final: PromiseWithResolvers<DeliveryResult> | undefined
  #delivery: DeliveryResult | undefined
  #controller: Dispatcher.DispatchController | undefined
  #timeout: Timeout
  #deadline: NodeJS.Timeout | undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #bytes = 0
  #noted = false
  #patience: RequestDeadlines
  #listeners: RequestListeners

  constructor(patience: RequestDeadlines, listeners: RequestListeners) {
    this.#patience = patience
    this.#listeners = listeners
    this.soon = new Promise((resolve) => {
      this.#resolveSoon = resolve
    })
    this.#timeout = patience.late.begin(() => this.#onLate())
  }

  /** What came of it in the end. Most are over before anybody asks. */
  get final(): Promise<DeliveryResult> {
    if (this.#delivery) return Promise.resolve(this.#delivery)
    this.#final ??= Promise.withResolvers()
    return this.#final.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#delivery) controller.abort(new Error('too late to begin'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= MAX_REPLY_BYTES) {
      this.#chunks.push(chunk)
      return
    }
    this.#end({ kind: 'undecided', reason: 'reply-too-large', status: this.#status })
    controller.abort(new Error('reply-too-large'))
  }

  onResponseEnd(): void {
    this.#end(judge(this.#status, this.#headers, whole(this.#chunks, this.#bytes)))
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    if (error instanceof UnreadableBody) this.#noted = true
    this.#end({ kind: 'undecided', reason: nameOf(error), status: this.#status || undefined })
  }

  #onLate(): void {
    this.#tell('late')
    this.#resolveSoon('late')
    this.#deadline = setTimeout(() => this.#onDeadline(), this.#patience.afterLateMs)
  }

  /** Also for a request that still waits for a connection: it ends here, and is not begun later. */
  #onDeadline(): void {
    this.#end({ kind: 'undecided', reason: 'deadline', status: undefined })
    this.#controller?.abort(new Error('deadline'))
  }

  #end(delivery: DeliveryResult): void {
    if (this.#delivery) return
    this.#delivery = delivery
    this.#patience.late.forget(this.#timeout)
    clearTimeout(this.#deadline)
    this.#tell(delivery.kind === 'answered' ? 'prompt' : 'failed')
    this.#listeners.learn(delivery)
    this.#resolveSoon(delivery)
    this.#final?.resolve(delivery)
  }

  #tell(verdict: RequestResult): void {
    if (this.#noted) return
    this.#noted = true
    this.#listeners.note(verdict)
  }
}

function whole(chunks: Buffer[], bytes: number): Buffer<ArrayBuffer> {
  const [only] = chunks
  return (chunks.length === 1 && only ? only : Buffer.concat(chunks, bytes)) as Buffer<ArrayBuffer>
}

function judge(status: number, headers: IncomingHttpHeaders, body: Buffer<ArrayBuffer>): DeliveryResult {
  const contentType = one(headers['content-type'])
  if (!isDecided(status, contentType, body))
    return {
      kind: 'undecided',
      reason: `status-${status}`,
      status,
      retryAfterMs: readRetryAfterMs(one(headers['retry-after'])),
      rateLimits: one(headers['x-sentry-rate-limits']),
    }
  return {
    kind: 'answered',
    reply: {
      status,
      body,
      contentType,
      retryAfter: one(headers['retry-after']),
      rateLimits: one(headers['x-sentry-rate-limits']),
    },
  }
}

/** Statuses that say nothing of the envelope; 401, 403 and 404 are Sentry's only when they carry its JSON (a proxy's do not). */
function isDecided(status: number, contentType: string | undefined, body: Buffer): boolean {
  if (status >= 500 || status < 200 || (status >= 300 && status < 400)) return false
  if (status === 408 || status === 421 || status === 425) return false
  if (status === 401 || status === 403 || status === 404) return isSentryError(contentType, body)
  return true
}

/** Relay's `ApiErrorResponse` (relay-server/src/utils/api.rs) is JSON with a `detail`. */
function isSentryError(contentType: string | undefined, body: Buffer): boolean {
  if (!contentType?.includes('json')) return false
  try {
    return typeof JSON.parse(body.toString()).detail === 'string'
  } catch {
    return false
  }
}

/** Sets our own back-off, and goes to no browser. */
function readRetryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header)
  return header !== undefined && seconds >= 0 && seconds < 86_400 ? seconds * 1000 : undefined
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** undici's and Node's own codes (`UND_ERR_CONNECT_TIMEOUT`, `ECONNREFUSED`): a closed set, and no part of a URL. */
function nameOf(error: Error): string {
  if (error instanceof UnreadableBody) return UNREADABLE
  return 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}
