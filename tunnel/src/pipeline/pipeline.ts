/** Types of the ingest pipeline: the context of one request, its outcome, and a stage. `http/ingest.ts` lists the stages. */

import type { IncomingMessage } from 'node:http'
import type { Receipt, RemovalReason } from 'contract/admin-api'
import type { RateLimit } from 'contract/rate-limits'
import type { Body } from '../envelope/body/bodies.ts'
import { mergeRanges, type Range } from '../envelope/body/ranges.ts'
import type { Item } from '../envelope/items.ts'
import type { Envelope, EnvelopeReader } from '../envelope/reader.ts'
import type { Project } from './projects.ts'

/**
 * One step of the pipeline, which names the parts of the context that it reads and those that it writes. Returns `undefined` to continue, or
 * the outcome, which ends the pipeline. May throw a `Rejection` instead. A stage that does not wait returns no promise, so that the next
 * stage runs at once.
 */
export type Stage<Reads extends keyof Context = keyof Context, Writes extends keyof Context = never> = (
  ctx: Parts<Reads> & Pick<Context, Writes>,
) => Outcome | undefined | Promise<Outcome | undefined>

/** Parts of a context that are read only. A stage that adds to the receipt has it among those that it writes. */
export type Parts<Names extends keyof Context> = {
  readonly [Name in Names]: Name extends 'receipt' ? Readonly<PendingReceipt> : Context[Name]
}

/** Response of the public port to a request. */
export type HttpResponse = {
  status: number
  body: string | Buffer<ArrayBuffer> | null
  headers: Record<string, string>
}

/** Outcome of an envelope, and the response to its sender: status 0 when the sender has left. `respond` adds headers. */
export type Outcome = Partial<Pick<Receipt, 'outcome' | 'reason'>> &
  HttpResponse & {
    /** Runs after the outcome is recorded. The response does not wait for it. It does not reject. */
    after?: () => Promise<void>
  }

/** Receipt of an envelope that has no outcome yet. */
export type PendingReceipt = Omit<Receipt, 'outcome' | 'status' | 'duration_ms'>

/** Client of a request, as resolved from trusted proxies. */
export type Client = {
  /** Client address; `undefined` when no trusted proxy has named it. */
  address: string | undefined
  requestId: string
  /** nginx sends the request again, since a replica was lost. */
  isRetry: boolean
}

const NONE_REMOVED: ReadonlyMap<Item, RemovalReason> = new Map()
const NO_RANGES: readonly Range[] = []
const NO_LIMITS: readonly RateLimit[] = []

/**
 * State of one request. Each part says which stage writes it; the stages before it must not read it, and reading the body, the envelope or
 * the project then throws. What few requests need is created when it is needed.
 */
export class Context {
  readonly incoming: IncomingMessage
  /** Start of the request, in milliseconds of the monotonic clock. */
  readonly startedAt: number
  /** Completed by the stages as they learn about the envelope, and by `respond`. */
  readonly receipt: PendingReceipt
  /** Resolved before the first stage. `scrub` and `reduceAddress` replace it: later stages see only what they leave of its address. */
  client: Client
  /** Allowed origin of another site, for CORS headers: `checkOriginStage`. */
  foreignOrigin: string | undefined
  /** Parser that reads the body while it arrives: `receiveBody`. */
  parser: EnvelopeReader | undefined
  /** DSN in the envelope header, unchecked, for a sample of rejections: `receiveBody`. */
  postedDsn: unknown
  /** Share of the client address's rate limit that is left, from 0 to 1; below 0 when it was used up: `chargeAddress`. */
  addressBudget = 1
  /** Changes of the body that follow from removed elements and scrubbing: `filter` and `scrub`. Of two that replace the same range, the first wins. */
  changedRanges = NO_RANGES
  /** Limits of our own, for the sender of an envelope of which no item is left: `applyQuotas`. */
  ownLimits = NO_LIMITS
  /** Scrubs the URL of the page in a request header: `scrub`, if the envelope is scrubbed. */
  scrubPage: ((url: string) => string) | undefined
  /** Resolves when the spool has the envelope for its mirrors, or cannot take it, and does not reject: the stage of mirrors. */
  mirrored: Promise<void> | undefined
  /** The loss of the envelope is reported to Sentry, else by the transport of `sdk.js`: the stage that ends the pipeline. */
  isLossReported = false
  #body: Body | undefined
  #envelope: Envelope | undefined
  #project: Project | undefined
  #removed: Map<Item, RemovalReason> | undefined
  #derivedBodies: Body[] | undefined
  #pendingAttempts: Promise<unknown>[] | undefined
  #outcomeListeners: ((outcome: Outcome) => void)[] | undefined

  constructor(incoming: IncomingMessage, client: Client, startedAt: number, receipt: PendingReceipt) {
    this.incoming = incoming
    this.client = client
    this.startedAt = startedAt
    this.receipt = receipt
  }

  /** Calls `listener` with the outcome before it is recorded, also when the envelope was rejected. */
  onOutcome(listener: (outcome: Outcome) => void): void {
    this.#outcomeListeners ??= []
    this.#outcomeListeners.push(listener)
  }

  /** Calls each listener once. */
  announceOutcome(outcome: Outcome): void {
    for (const listener of this.#outcomeListeners?.splice(0) ?? []) listener(outcome)
  }

  /** Body as received: `receiveBody`. */
  get body(): Body {
    return this.#body ?? notSet('body')
  }

  set body(body: Body) {
    this.#body = body
  }

  /** `parseEnvelope`. */
  get envelope(): Envelope {
    return this.#envelope ?? notSet('envelope')
  }

  set envelope(envelope: Envelope) {
    this.#envelope = envelope
  }

  /** `receiveBody`, as soon as the first line is there, or `resolveProject`. */
  get project(): Project {
    return this.#project ?? notSet('project')
  }

  set project(project: Project) {
    this.#project = project
  }

  /** Reports whether the sender keeps an envelope that is not accepted for a cause that passes, and sends it again: the transport of `sdk.js` says so. */
  isKeptBySender(): boolean {
    return /[?&]keep=1(&|$)/.test(this.incoming.url ?? '')
  }

  hasProject(): boolean {
    return this.#project !== undefined
  }

  /** Items that policies have removed, and elements of containers as items, with the reason. */
  get removed(): ReadonlyMap<Item, RemovalReason> {
    return this.#removed ?? NONE_REMOVED
  }

  /** Removes items before the envelope is forwarded. The reason goes into the receipt and into a client report to Sentry. */
  remove(items: Iterable<Item>, reason: RemovalReason): void {
    for (const item of items) {
      this.#removed ??= new Map()
      this.#removed.set(item, reason)
    }
  }

  /** Removes elements of a container: `parts` stand for them, and `payload` has the others. */
  removeElements(container: Item, parts: ReadonlyMap<Item, RemovalReason>, payload: Buffer): void {
    let count = Number(container.header.item_count)
    for (const [part, reason] of parts) {
      this.remove([part], reason)
      container.bytes -= part.bytes
      count -= Number(part.header.item_count)
    }
    container.header = { ...container.header, item_count: count }
    const place = container.layout?.count
    if (place) this.changedRanges = [...this.changedRanges, [...place, Buffer.from(String(count))]]
    this.replacePayload(container, payload)
  }

  /** Replaces the payload of an item, and its length in the header. */
  replacePayload(item: Item, payload: Buffer): void {
    if (!item.layout) return
    item.payload = [payload]
    const { payload: place, length } = item.layout
    const lengths: Range[] = length ? [[...length, Buffer.from(String(payload.length))]] : []
    this.changedRanges = [...lengths, [...place, payload], ...this.changedRanges]
  }

  /** Returns the envelope with the items that no policy has removed. */
  remaining(): Envelope {
    const { envelope, removed } = this
    if (removed.size === 0) return envelope
    return { ...envelope, items: envelope.items.filter((item) => !removed.has(item)) }
  }

  /** Returns the ranges of the body that are not forwarded, or replaced. */
  outgoingRanges(): Range[] {
    const { changedRanges, removed } = this
    const { removedRanges } = this.envelope
    if (removedRanges.length + changedRanges.length + removed.size === 0) return []
    return mergeRanges([
      ...removedRanges,
      ...changedRanges,
      ...Array.from(removed.keys(), ({ range }) => range),
    ])
  }

  /** Releases a body that was made of the received one together with it. */
  addDerivedBody(body: Body): void {
    this.#derivedBodies ??= []
    this.#derivedBodies.push(body)
  }

  /** Releases the bodies only when an attempt has ended that may read them after the response. */
  releaseAfter(attempt: Promise<unknown>): void {
    this.#pendingAttempts ??= []
    this.#pendingAttempts.push(attempt)
  }

  /** Releases the bodies, or lets the pending attempts do so when they end. */
  releaseBodies(): Promise<unknown> | undefined {
    if (this.#pendingAttempts) {
      void Promise.allSettled(this.#pendingAttempts).then(() => this.#releaseAll())
      return undefined
    }
    return this.#derivedBodies ? this.#releaseAll() : this.#body?.release()
  }

  #releaseAll(): Promise<unknown> {
    return Promise.all([this.#body, ...(this.#derivedBodies ?? [])].map((body) => body?.release()))
  }
}

function notSet(name: string): never {
  throw new Error(`the stage that sets the ${name} has not run`)
}

export function jsonHeaders(): Record<string, string> {
  return { 'content-type': 'application/json' }
}

/** Has the value `spooled` while the envelope waits in the spool. The status is 200: SDKs for Java, Android, .NET and Dart send again after a 202. */
export const OUTCOME_HEADER = 'x-culvert-outcome'

/** Builds the outcome with the response that Sentry sends for an accepted envelope. */
export function accepted(
  { envelope: { eventId } }: Parts<'envelope'>,
  outcome: Pick<Outcome, 'outcome' | 'reason'>,
): Outcome {
  return {
    ...outcome,
    status: 200,
    body: JSON.stringify(eventId ? { id: eventId } : {}),
    headers: jsonHeaders(),
  }
}

/** Builds the outcome of an envelope that is in the spool, or was there already. */
export function spooled(ctx: Parts<'envelope' | 'client'>, result: 'stored' | 'known'): Outcome {
  const outcome =
    result === 'known' && !ctx.client.isRetry // else a lost replica has spooled it, and counted nothing
      ? ({ outcome: 'filtered', reason: 'duplicate' } as const)
      : ({ outcome: 'spooled' } as const)
  const response = accepted(ctx, outcome)
  response.headers[OUTCOME_HEADER] = 'spooled'
  return response
}

/** Rounds milliseconds to three digits. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
