/** One request to Sentry, and the classification of its response. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { isDecision, sentenceOf } from './answers.ts'
import { isLarge } from './connections.ts'

/** The part of Sentry's response that is passed on. */
export type UpstreamResponse = {
  status: number
  body: Buffer<ArrayBuffer>
  contentType: string | undefined
  retryAfter: string | undefined
  rateLimits: string | undefined
}

export type DeliveryResult =
  /** Sentry accepted it, declined it, or applied a rate limit. */
  | { kind: 'answered'; reply: UpstreamResponse }
  /** No connection, too slow, or a response that is not Sentry's. */
  | {
      kind: 'undecided'
      reason: string
      status: number | undefined
      /** Delay before the next attempt. */
      retryAfterMs?: number | undefined
      rateLimits?: string | undefined
      /** Text of the response, for the operator. */
      message?: string | undefined
    }

/** One POST. Neither promise rejects. */
export type DeliveryAttempt = {
  /** The result, or `late` when a browser should not wait any longer. */
  soon: Promise<DeliveryResult | 'late'>
  final: Promise<DeliveryResult>
  /** Ends the attempt unless bytes of it were sent. */
  drop(): void
}

/** The stored body could not be read: purged meanwhile, or on a disk that fails. It says nothing about Sentry. */
export class BodyReadError extends Error {}
export const UNREADABLE = 'body-unreadable'
export const BREAKER_OPEN = 'breaker-open'
export const DEADLINE = 'deadline'
/** No connection was free in time. */
export const NOT_SENT = 'not-sent'
export const TOO_LARGE = 'reply-too-large'

const WRONG_LENGTH = 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' // the body has another length than its entry
const MAX_REPLY_BYTES = 64 * 1024 // Sentry sends a few dozen

export type RequestLimits = {
  /** Size of the body. */
  bytes: number
  /** Milliseconds from now, after which the sender does not wait. */
  lateMs: number
  /** Milliseconds from the first byte sent, for which it waits as long. */
  maxMs: number
  /** Part of `maxMs` for sending the body. */
  transferMs: number
}

type Abortable = Pick<Dispatcher.DispatchController, 'abort'>

export type RequestListener = {
  /** Called when the sender stops waiting for a small body. A large one waits for others, and takes long to send. */
  onLate: () => void
  /** Called once. A decision is `slow` when its sender has stopped waiting, or would have if its body were small. */
  onEnd: (result: DeliveryResult, timing: 'prompt' | 'slow') => void
}

/** Handler of undici for one request. Neither promise rejects. */
export class UpstreamRequest implements Dispatcher.DispatchHandler {
  /** The result, or `late` when a browser should not wait any longer. */
  readonly soon: Promise<DeliveryResult | 'late'>
  /** It has a connection, or one is being made for it. */
  isDispatched = false
  #resolveSoon!: (result: DeliveryResult | 'late') => void
  #final: PromiseWithResolvers<DeliveryResult> | undefined
  #result: DeliveryResult | undefined
  #controller: Abortable | undefined
  #timer: NodeJS.Timeout
  #startedAt: number | undefined
  #isLate = false
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #bytes = 0
  readonly #limits: RequestLimits
  readonly #listener: RequestListener

  constructor(limits: RequestLimits, listener: RequestListener) {
    this.#limits = limits
    this.#listener = listener
    this.soon = new Promise((resolve) => {
      this.#resolveSoon = resolve
    })
    this.#timer = setTimeout(() => this.#onLate(), limits.lateMs)
  }

  /** The result. Created when asked for: most requests end before. */
  get final(): Promise<DeliveryResult> {
    if (this.#result) return Promise.resolve(this.#result)
    this.#final ??= Promise.withResolvers()
    return this.#final.promise
  }

  /** undici calls it right before the first byte is sent. */
  onRequestStart(controller: Abortable): void {
    if (this.#result) {
      controller.abort(new Error(NOT_SENT))
      return
    }
    this.#controller = controller
    this.#startedAt = performance.now()
    if (this.#isLate) this.#endAfter(this.#limits.maxMs)
  }

  /** Ends the request unless bytes of it were sent. */
  drop(): void {
    if (this.#startedAt === undefined) this.#onDeadline()
  }

  onResponseStart(_: Abortable, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Abortable, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= MAX_REPLY_BYTES) {
      this.#chunks.push(chunk)
      return
    }
    const message = sentenceOf(Buffer.concat(this.#chunks))
    this.#end({ kind: 'undecided', reason: TOO_LARGE, status: this.#status, message })
    controller.abort(new Error(TOO_LARGE))
  }

  onResponseEnd(): void {
    this.#end(classifyResponse(this.#status, this.#headers, Buffer.concat(this.#chunks, this.#bytes)))
  }

  onResponseError(_: Abortable | null, error: Error): void {
    this.#end({ kind: 'undecided', reason: errorCodeOf(error), status: this.#status || undefined })
  }

  /** Lets the sender go. */
  #onLate(): void {
    const { lateMs, maxMs } = this.#limits
    this.#isLate = true
    if (!isLarge(this.#limits)) this.#listener.onLate()
    const passedMs = this.#startedAt === undefined ? lateMs : performance.now() - this.#startedAt
    this.#endAfter(maxMs - passedMs)
    this.#resolveSoon('late')
  }

  #endAfter(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onDeadline(), Math.max(0, ms)) // the process may have been paused
  }

  #onDeadline(): void {
    this.#end({ kind: 'undecided', reason: this.isDispatched ? DEADLINE : NOT_SENT, status: undefined })
    this.#controller?.abort(new Error(DEADLINE))
  }

  #end(result: DeliveryResult): void {
    if (this.#result) return
    this.#result = result
    clearTimeout(this.#timer)
    this.#listener.onEnd(result, this.#isInTime() ? 'prompt' : 'slow')
    this.#resolveSoon(result)
    this.#final?.resolve(result)
  }

  /** A large body may take longer than others, by the time to send it. */
  #isInTime(): boolean {
    if (!this.#isLate || !isLarge(this.#limits)) return !this.#isLate
    const { lateMs, transferMs } = this.#limits
    return performance.now() - (this.#startedAt ?? 0) <= lateMs + transferMs
  }
}

function classifyResponse(
  status: number,
  headers: IncomingHttpHeaders,
  body: Buffer<ArrayBuffer>,
): DeliveryResult {
  const contentType = one(headers['content-type'])
  const retryAfter = one(headers['retry-after'])
  const rateLimits = one(headers['x-sentry-rate-limits'])
  if (isDecision(status, contentType, body))
    return { kind: 'answered', reply: { status, body, contentType, retryAfter, rateLimits } }
  const retryAfterMs = readRetryAfterMs(retryAfter)
  const message = sentenceOf(body)
  return { kind: 'undecided', reason: `status-${status}`, status, retryAfterMs, rateLimits, message }
}

function readRetryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header)
  return header !== undefined && seconds >= 0 && seconds < 86_400 ? seconds * 1000 : undefined
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** Returns undici's or Node's error code (`UND_ERR_CONNECT_TIMEOUT`, `ECONNREFUSED`): a closed set without parts of a URL. */
function errorCodeOf(error: Error): string {
  if (error instanceof BodyReadError) return UNREADABLE
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
  return code === WRONG_LENGTH ? UNREADABLE : code
}
