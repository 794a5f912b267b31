/** How a visit ends: the envelope's fate, told once to everybody, and the answer that its sender gets. */

import type { IncomingMessage } from 'node:http'
import { Aborted } from '../body/receive.ts'
import type { HoldReason, Receipt } from '../contract.ts'
import { CATEGORY_NAMES, limitNameOf } from '../envelope/items.ts'
import type { Envelope, Item } from '../envelope/reader.ts'
import { formatRateLimits, type RateLimit } from '../policy/rate-limits.ts'
import { SHED_SECONDS } from '../policy/throttle.ts'
import { Rejection, refusalBody } from '../rejections.ts'
import type { Receipts } from '../telemetry/receipts.ts'
import type { Samples } from '../telemetry/rejection-samples.ts'
import type { Reply } from '../upstream/request.ts'
import type { Caller } from './client-address.ts'
import type { Sender } from './origin.ts'
import { bodyOf, jsonType, replyHeaders, respond } from './response.ts'

/** A post that has come, and what is known of its envelope so far. */
export type Visit = {
  incoming: IncomingMessage
  caller: Caller
  started: number
  sender: Sender
  receipt: Omit<Receipt, 'answer' | 'status' | 'took'>
}

export type Verdict = Pick<Receipt, 'answer' | 'status'> & Partial<Pick<Receipt, 'reason'>>

/** Each ends the visit: none is called twice for one, nor another after it. */
export type Settling = {
  /** As Sentry answered. */
  pass(visit: Visit, reply: Reply): Response
  /** As Sentry would answer what it takes. */
  settleKept(visit: Visit, envelope: Envelope, verdict: Verdict): Response
  /** Nothing is left of it: `out` says why of each item. `shed` are those that our own limits took out, `asked` is what Sentry's still say. */
  holdBack(
    visit: Visit,
    out: ReadonlyMap<Item, string>,
    shed: ReadonlySet<Item>,
    asked: RateLimit[],
  ): Response
  /** Its sender's own limit is used up, whatever is in it. */
  tooMuch(visit: Visit): Response
  refuse(visit: Visit, error: unknown): Response
}

export type SettlingParts = {
  receipts: Receipts
  samples: Samples
  /** Monotonic, in milliseconds. */
  clock: () => number
  /** Told of what should not happen. */
  onBug: (error: unknown, requestId: string) => void
}

export function createSettling({ receipts, samples, clock, onBug }: SettlingParts): Settling {
  return { pass, settleKept, holdBack, tooMuch, refuse }

  function pass(visit: Visit, reply: Reply): Response {
    const { status } = reply
    visit.receipt.upstreamStatus = status
    const answer = status < 300 ? 'delivered' : status === 429 ? 'limited' : 'declined'
    return settle(visit, { answer, status }, bodyOf(reply), replyHeaders(reply))
  }

  function settleKept(visit: Visit, { eventId }: Envelope, verdict: Verdict): Response {
    const { answer, status, reason } = verdict
    return settle(
      visit,
      { answer, status, ...(reason && { reason }) },
      JSON.stringify(eventId ? { id: eventId } : {}),
      jsonType(),
    )
  }

  function holdBack(
    visit: Visit,
    out: ReadonlyMap<Item, string>,
    shed: ReadonlySet<Item>,
    asked: RateLimit[],
  ): Response {
    const ours = shed.size > 0 ? [{ seconds: SHED_SECONDS, categories: limitNamesOf(shed) }] : []
    const limits = [...asked, ...ours]
    if (limits.length === 0) limits.push({ seconds: 1, categories: limitNamesOf(out.keys()) }) // it has ended this very moment
    const why = `Held back: ${[...new Set(out.values())].join(', ')}.`
    return limit(visit, shed.size > 0 ? 'shed' : 'limited', why, limits)
  }

  /** Every kind is named, since a header that names none is no limit. */
  function tooMuch(visit: Visit): Response {
    const all = { seconds: SHED_SECONDS, categories: [...CATEGORY_NAMES] }
    return limit(visit, 'shed', 'Its sender has sent too much.', [all])
  }

  function limit(visit: Visit, reason: HoldReason, why: string, limits: RateLimit[]): Response {
    const rejection = new Rejection('rate-limited', why)
    return settle(
      visit,
      { answer: 'limited', reason, status: rejection.status },
      refusalBody(rejection, visit.caller.requestId),
      { ...jsonType(), 'x-sentry-rate-limits': formatRateLimits(limits, 'tunnel') },
    )
  }

  function refuse(visit: Visit, error: unknown): Response {
    if (error instanceof Aborted) {
      return settle(visit, { answer: 'aborted', status: 0 }, null, {}) // nobody is there to read it
    }
    const rejection = error instanceof Rejection ? error : bug(visit, error)
    const { code, status } = rejection
    samples.note(rejection, visit.incoming)
    return settle(
      visit,
      { answer: 'refused', reason: code, status },
      refusalBody(rejection, visit.caller.requestId),
      jsonType(),
    )
  }

  function bug(visit: Visit, error: unknown): Rejection {
    onBug(error, visit.caller.requestId)
    return new Rejection('tunnel-failed')
  }

  /** The one place where an envelope's fate is told, to everybody. `headers` is taken over. */
  function settle(
    visit: Visit,
    verdict: Verdict,
    body: BodyInit | null,
    headers: Record<string, string>,
  ): Response {
    const receipt: Receipt = Object.assign(visit.receipt, verdict, {
      took: toMicroseconds(clock() - visit.started),
    })
    headers['x-culvert-receipt'] = receipts.settle(receipt)
    return respond(visit, verdict.status || 400, body, headers)
  }
}

/** Milliseconds: further digits would only be read and written. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

function limitNamesOf(items: Iterable<Item>): string[] {
  return [...new Set(Array.from(items, limitNameOf))]
}
