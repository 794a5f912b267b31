/** Of each rejection the last request, as far as it may be shown: what headers it had, and the values of those that tell nobody's secret. */

import type { IncomingMessage } from 'node:http'
import type { RejectionSample } from '../contract.ts'
import type { Rejection, RejectionCode } from '../rejections.ts'

export type RejectionSamples = {
  note(rejection: Rejection, incoming: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): void
  /** One for each code that there was. */
  all(): RejectionSample[]
}

const PLAIN = new Set([
  ...[
    'accept',
    'accept-encoding',
    'connection',
    'content-encoding',
    'content-length',
    'content-type',
    'host',
  ],
  ...['origin', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'transfer-encoding', 'user-agent'],
])
const MOST_HEADERS = 40
const LONGEST = 200
const EVERY_MS = 1_000 // a flood of rejections costs one sample a second

/** Bounded by the set of codes. `now` in milliseconds since 1970. */
export function createRejectionSamples(now: () => number): RejectionSamples {
  const byCode = new Map<RejectionCode, RejectionSample>()
  return { note, all: () => [...byCode.values()] }

  function note(
    { code, causes }: Rejection,
    { method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  ): void {
    const time = now()
    const before = byCode.get(code)
    if (before && time - before.last < EVERY_MS) return
    byCode.set(code, {
      ...{ code, last: time, causes },
      request: `${method} ${redactUrl(url)}`,
      headers: Object.entries(headers)
        .slice(0, MOST_HEADERS)
        .map(([name, value]) => [
          name.slice(0, LONGEST),
          PLAIN.has(name) ? String(value).slice(0, LONGEST) : null,
        ]),
    })
  }
}

/** The path, and of the query the names; the project's identifiers with their values. */
function redactUrl(url: string): string {
  const [path = '', query] = url.split('?', 2)
  if (query === undefined) return path.slice(0, LONGEST)
  const parts = query
    .split('&')
    .map((part) => (/^[por]=\w{1,24}$/.test(part) ? part : part.replace(/=.*/s, '=…')))
  return `${path}?${parts.join('&')}`.slice(0, LONGEST)
}
