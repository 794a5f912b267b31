/** End of the pipeline: records the outcome of an envelope once, and builds the response to its client. */

import type { Receipt } from 'contract/admin-api'
import { Rejection, type RejectionCode, rejectionBody } from 'contract/rejections'
import { Aborted } from '../envelope/body/bodies.ts'
import type { Receipts } from '../observe/receipts.ts'
import type { RejectionSamples } from '../observe/rejection-samples.ts'
import {
  type Context,
  type HttpResponse,
  jsonHeaders,
  type Outcome,
  type Parts,
  toMicroseconds,
} from '../pipeline/pipeline.ts'
import type { Refusable } from '../policy/rate-limited.ts'
import { corsHeaders } from './origin.ts'

export type OutcomeServices = {
  receipts: Pick<Receipts, 'record'>
  rejectionSamples: RejectionSamples
  /** Monotonic, in milliseconds. */
  clock: () => number
  /** Called with errors that are bugs. */
  onBug: (error: unknown, requestId: string) => void
}

const BODILESS = new Set([204, 205])

/** Statuses of rejections for a cause that passes. */
const PASSING = new Set([408, 503])

/** Code with 503 that another attempt would get too. The transport of `sdk.js` drops the envelope after it. */
const FINAL_CODE: RejectionCode = 'tunnel-failed'

/** Records an outcome, from which log, metrics, live feed and the sender's receipt derive. Called once per request. */
export function respond(
  ctx: Parts<'announceOutcome' | 'startedAt' | 'client' | 'foreignOrigin'> & Pick<Context, 'receipt'>,
  outcome: Outcome,
  { receipts, clock }: OutcomeServices,
): HttpResponse {
  const { outcome: name, reason, status, body, headers } = outcome
  ctx.announceOutcome(outcome)
  if (name !== undefined) {
    const durationMs = toMicroseconds(clock() - ctx.startedAt)
    const receipt: Receipt = Object.assign(ctx.receipt, { outcome: name, status, duration_ms: durationMs })
    if (reason !== undefined) receipt.reason = reason
    headers['x-culvert-receipt'] = receipts.record(receipt)
  }
  headers['x-request-id'] = ctx.client.requestId
  Object.assign(headers, corsHeaders(ctx.foreignOrigin))
  return { status: status || 400, body: BODILESS.has(status) ? null : body, headers }
}

/** Builds the outcome after a stage has thrown. */
export function rejected(
  ctx: Refusable & Parts<'incoming' | 'postedDsn'>,
  error: unknown,
  { rejectionSamples, onBug }: OutcomeServices,
): Outcome {
  if (error instanceof Aborted) return { outcome: 'aborted', status: 0, body: null, headers: {} }
  const { requestId } = ctx.client
  const isRejection = error instanceof Rejection
  if (!isRejection) onBug(error, requestId)
  const rejection = isRejection ? error : new Rejection('tunnel-failed')
  const { code, status } = rejection
  rejectionSamples.note(rejection, ctx.incoming, ctx.postedDsn)
  return {
    outcome: PASSING.has(status) && code !== FINAL_CODE && ctx.isKeptBySender() ? 'deferred' : 'rejected',
    reason: code,
    status,
    body: rejectionBody(rejection, requestId, { reported: ctx.isLossReported }),
    headers: jsonHeaders(),
  }
}
