/** Sampling of the server's traces. */

import { isOwnRequest } from './browser-config.ts'
import { asksForPrivacy, type PrivacySignal } from './privacy.ts'

export type Asked = {
  attributes?: Record<string, unknown>
  /** Decision of the caller for its part of the trace. */
  parentSampled?: boolean
  normalizedRequest?: { url?: string; headers?: Record<string, string> }
}

/** Traces per second that callers can request in addition to our share: a header is free, quota is not. */
const ASKED_FOR = 20

/** `clock` is in milliseconds. */
export function createSampler(rate: number, privacySignal: PrivacySignal, clock: () => number) {
  let left = ASKED_FOR
  let refilled = clock()

  return function shareOf({ attributes, parentSampled, normalizedRequest }: Asked): number {
    if (isNextsOwn(attributes?.['next.span_type'])) return 0
    if (isOwnRequest(String(attributes?.['http.target'] ?? normalizedRequest?.url ?? ''))) return 0
    const isPrivate = asksForPrivacy(normalizedRequest?.headers?.['sec-gpc'])
    if (isPrivate && privacySignal !== 'mark') return 0
    if (parentSampled === undefined) return rate
    return parentSampled ? believe() : 0
  }

  function believe(): number {
    const now = clock()
    left = Math.min(ASKED_FOR, left + ((now - refilled) / 1000) * ASKED_FOR)
    refilled = now
    if (left < 1) return rate
    left -= 1
    return 1
  }
}

/** Reports whether a span is internal to Next.js. */
function isNextsOwn(type: unknown): boolean {
  return type !== undefined && type !== 'BaseServer.handleRequest'
}
