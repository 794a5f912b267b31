/** Which requests web's own server tells a trace of. */

import { asksForPrivacy, type PrivacySignal } from './privacy.ts'

export type Asked = {
  attributes?: Record<string, unknown>
  /** What the caller has decided for its own part of the trace. */
  parentSampled?: boolean
  normalizedRequest?: { headers?: Record<string, string> }
}

/** Traces a second that callers can ask for, beyond our own share: a header costs them nothing, and a trace costs quota. */
const ASKED_FOR = 20

/** `clock` is in milliseconds. */
export function createSampler(rate: number, privacySignal: PrivacySignal, clock: () => number) {
  let left = ASKED_FOR
  let refilled = clock()

  return function shareOf({ attributes, parentSampled, normalizedRequest }: Asked): number {
    if (isNextsOwn(attributes?.['next.span_type'])) return 0
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

/** What Next does beside requests, most of it as it starts. */
function isNextsOwn(type: unknown): boolean {
  return type !== undefined && type !== 'BaseServer.handleRequest'
}
