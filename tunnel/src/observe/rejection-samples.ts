/** Last rejected request per code, redacted: header names, and the values of those that are no secret. */

import type { IncomingMessage } from 'node:http'
import type { RejectionSample } from 'contract/admin-api'
import { formatDsn, parseDsn } from 'contract/dsn'
import type { Rejection, RejectionCode } from 'contract/rejections'

type RejectedRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>

/** Headers that are shown with their values. */
const PLAIN = new Set(
  `accept accept-encoding connection content-encoding content-length content-type host origin
  sec-fetch-dest sec-fetch-mode sec-fetch-site transfer-encoding user-agent`.split(/\s+/),
)
const MAX_HEADERS = 40
const MAX_LENGTH = 200
const MAX_SEGMENT_LENGTH = 24 // of the path of a page
const MAX_DSN_LENGTH = 500
const INTERVAL_MS = 1_000 // a flood of rejections costs one sample a second

/** Bounded by the set of codes. */
export class RejectionSamples {
  readonly #now: () => number
  readonly #byCode = new Map<RejectionCode, RejectionSample>()

  /** `now` is in milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** `dsn` is that of the envelope, as its sender wrote it. */
  note(
    { code, causes }: Rejection,
    { method = '', url = '', headers }: RejectedRequest,
    dsn?: unknown,
  ): void {
    const time = this.#now()
    const previous = this.#byCode.get(code)
    if (previous && time - previous.last < INTERVAL_MS) return
    const known = typeof dsn === 'string' ? parseDsn(dsn) : undefined
    const page = headers.referer === undefined ? undefined : URL.parse(headers.referer)
    this.#byCode.set(code, {
      ...{ code, last: time, causes },
      request: `${method} ${redactUrl(url)}`,
      headers: Object.entries(headers)
        .slice(0, MAX_HEADERS)
        .map(([name, value]) => [
          name.slice(0, MAX_LENGTH),
          PLAIN.has(name) ? String(value).slice(0, MAX_LENGTH) : null,
        ]),
      ...(known && { dsn: formatDsn(known).slice(0, MAX_DSN_LENGTH) }),
      ...(page && {
        page: `${page.protocol}//${page.host}${redactPath(page.pathname)}`.slice(0, MAX_LENGTH),
      }),
    })
  }

  /** Returns one sample for each code that occurred. */
  all(): RejectionSample[] {
    return [...this.#byCode.values()]
  }
}

/** Replaces segments that may be a token or an address: long ones, those with a digit among letters, and those with an @. */
function redactPath(path: string): string {
  const isPlain = (segment: string) =>
    segment.length <= MAX_SEGMENT_LENGTH && /^(\d{0,9}|[a-z._~-]*)$/i.test(segment)
  return path
    .split('/')
    .map((segment) => (isPlain(segment) ? segment : '…'))
    .join('/')
}

/** Keeps the path, the names of query parameters, and the values of the project's identifiers. */
function redactUrl(url: string): string {
  const [path = '', query] = url.split('?', 2)
  if (query === undefined) return path.slice(0, MAX_LENGTH)
  const parts = query
    .split('&')
    .map((part) => (/^[por]=\w{1,24}$/.test(part) ? part : part.replace(/=.*/s, '=…')))
  return `${path}?${parts.join('&')}`.slice(0, MAX_LENGTH)
}
