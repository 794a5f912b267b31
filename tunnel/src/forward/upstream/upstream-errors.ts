/** Failed delivery attempts of one upstream: their class, the last one, and counts. */

import { type ReceiptUpstreamError, UPSTREAM_ERROR_CLASSES, type UpstreamErrorClass } from 'contract/upstream'
import { isClientError } from './answers.ts'
import { BREAKER_OPEN, DEADLINE, type DeliveryResult, NOT_SENT, TOO_LARGE, UNREADABLE } from './request.ts'

/** Error of one attempt. `code` is undici's, Node's or OpenSSL's; `status` that of the response. */
export type UpstreamError = { class: UpstreamErrorClass; code?: string; status?: number }

/** Equal errors in a row, without a response in between. Times are monotonic, in milliseconds. */
export type LastError = UpstreamError & { first: number; last: number; count: number }

type Undecided = Extract<DeliveryResult, { kind: 'undecided' }>

/** First match wins. */
const CODES: readonly [RegExp, UpstreamErrorClass][] = [
  [/^(ENOTFOUND|ENODATA|EAI_.*)$/, 'dns'],
  [/^(UND_ERR_ABORTED|UND_ERR_PRX_.*)$/, 'proxy'], // CONNECT failed; attempts that the tunnel aborts have their result by then
  [
    /^(ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|ETIMEDOUT|EACCES|EPERM|UND_ERR_CONNECT_TIMEOUT)$/,
    'connect',
  ],
  [/CERT|SIGNATURE|HOSTNAME_MISMATCH|INVALID_CA|CRL|^(ERR_TLS_|ERR_SSL_|EPROTO$)/, 'tls'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'reset'],
  [/^(HPE_.*|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_.*)$/, 'response'],
]
const NOT_OF_UPSTREAM = [BREAKER_OPEN, NOT_SENT, UNREADABLE, 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED']
const UNREACHABLE: readonly (UpstreamErrorClass | undefined)[] = ['dns', 'connect', 'tls', 'proxy']
const IS_CODE = /^[A-Z][A-Z0-9_]{2,63}$/

/** Returns the error of an attempt; `undefined` when it says nothing about the upstream. */
export function upstreamErrorOf({ reason, status }: Undecided): UpstreamError | undefined {
  if (NOT_OF_UPSTREAM.includes(reason)) return undefined
  if (reason === DEADLINE) return { class: 'timeout' }
  if (reason === TOO_LARGE) return { class: 'response', ...(status !== undefined && { status }) }
  if (IS_CODE.test(reason)) return { class: classOfCode(reason), code: reason }
  return status === undefined ? { class: 'other' } : { class: classOfStatus(status), status }
}

/** Returns `true` for an attempt without a connection: no byte of the envelope was sent, so the failure is not its own. */
export function isUnreachable(result: Undecided): boolean {
  return UNREACHABLE.includes(upstreamErrorOf(result)?.class)
}

/** Returns the reason that a receipt has for an envelope that was not delivered at once. */
export function receiptErrorOf(result: Undecided): ReceiptUpstreamError | undefined {
  return result.reason === BREAKER_OPEN ? 'breaker-open' : upstreamErrorOf(result)?.class
}

function classOfCode(code: string): UpstreamErrorClass {
  return CODES.find(([pattern]) => pattern.test(code))?.[1] ?? 'other'
}

function classOfStatus(status: number): UpstreamErrorClass {
  if (status >= 500) return 'http-5xx'
  if (status >= 400) return 'http-4xx'
  return status >= 300 ? 'redirect' : 'response'
}

/** Errors further apart are not in a row: the upstream may have been back meanwhile. */
const MAX_GAP_MS = 60_000

export class UpstreamErrors {
  readonly counts = new Map(UPSTREAM_ERROR_CLASSES.map((each) => [each, 0]))
  readonly #clock: () => number
  #last: LastError | undefined
  #isResponding = false
  #isInRow = false
  #hasResponded = false

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  get last(): LastError | undefined {
    return this.#last
  }

  /** `true` when the upstream has responded to the last attempt, also with a 4xx; `false` before the first one. */
  get isResponding(): boolean {
    return this.#isResponding
  }

  /** `true` once the upstream has responded, also with a 4xx. */
  get hasResponded(): boolean {
    return this.#hasResponded
  }

  note(result: DeliveryResult): void {
    if (result.kind === 'answered') {
      this.#isResponding = true
      this.#hasResponded = true
      this.#isInRow = false
      return
    }
    const error = upstreamErrorOf(result)
    if (!error) return
    const now = this.#clock()
    this.counts.set(error.class, (this.counts.get(error.class) ?? 0) + 1)
    const last = this.#isInRow && this.#last && now - this.#last.last <= MAX_GAP_MS ? this.#last : undefined
    const same = last && isEqual(last, error) ? last : undefined
    this.#last = { ...error, first: same?.first ?? now, last: now, count: (same?.count ?? 0) + 1 }
    this.#isInRow = true
    this.#isResponding = isClientError(error.status)
    this.#hasResponded ||= this.#isResponding
  }
}

function isEqual(a: UpstreamError, b: UpstreamError): boolean {
  return a.class === b.class && a.code === b.code && a.status === b.status
}
