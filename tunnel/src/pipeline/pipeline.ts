/** Types of the ingest pipeline: the context of one request, its outcome, and a stage. `http/ingest.ts` lists the stages. */

import type { IncomingMessage } from 'node:http'
import type { Receipt } from 'contract/admin-api'
import type { Body } from '../envelope/body/bodies.ts'
import { mergeRanges, type Range } from '../envelope/body/ranges.ts'
import type { Item } from '../envelope/items.ts'
import type { Envelope, EnvelopeReader } from '../envelope/reader.ts'
import type { Project } from './projects.ts'

/**
 * One step of the pipeline. Returns `undefined` to continue, or the outcome, which ends the pipeline. May throw a `Rejection` instead. A
 * stage that does not wait returns no promise, so that the next stage runs at once.
 */
export type Stage = (ctx: Context) => Outcome | undefined | Promise<Outcome | undefined>

/** Response of the public port to a request. */
export type HttpResponse = {
  status: number
  body: string | Buffer<ArrayBuffer> | null
  headers: Record<string, string>
}

/** Outcome of an envelope, and the response to its sender: status 0 when the sender has left. `respond` adds headers. */
export type Outcome = Partial<Pick<Receipt, 'outcome' | 'reason'>> & HttpResponse

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

/** State of one request. Reading a part before its stage has set it throws. */
export class Context {
  readonly incoming: IncomingMessage
  /** Later stages see only what `CLIENT_ADDRESS` leaves of its address. */
  client: Client
  /** Start of the request, in milliseconds of the monotonic clock. */
  readonly startedAt: number
  readonly receipt: PendingReceipt
  /** Allowed origin of another site, for CORS headers. */
  foreignOrigin: string | undefined
  /** Share of the client address's rate limit that is left, from 0 to 1; below 0 when it was used up. */
  addressBudget = 1
  /** Items that policies have removed, with the reason. */
  readonly removed = new Map<Item, string>()
  /** Elements that policies have removed from containers, as items, with the reason. */
  readonly removedElements = new Map<Item, string>()
  /** Changes of the body that follow from removed elements and scrubbing. Of two that replace the same range, the first wins. */
  readonly changedRanges: Range[] = []
  /** Scrubs the URL of the page in a request header. Set if the envelope is scrubbed. */
  scrubPage: ((url: string) => string) | undefined
  /** Limits of our own, for the sender of an envelope of which no item is left. */
  readonly ownLimits: { seconds: number; categories: string[] }[] = []
  /** The loss of the envelope is reported to Sentry. The transport of `sdk.js` reports it otherwise. */
  isLossReported = false
  /** Runs after the outcome is recorded, unless the envelope was rejected. The response does not wait for it. It does not reject. */
  afterOutcome: (() => Promise<void>) | undefined
  /** Resolves when the spool has the envelope for its mirrors, or cannot take it. Does not reject. */
  mirrored: Promise<void> | undefined
  /** Attempts that may still read the body after the response. */
  readonly pendingAttempts: Promise<unknown>[] = []
  /** Bodies made of the received one, released with it. */
  readonly derivedBodies: Body[] = []
  parser: EnvelopeReader | undefined
  /** DSN in the envelope header, unchecked. */
  postedDsn: unknown
  readonly #outcomeListeners: ((outcome: Outcome) => void)[] = []
  #body: Body | undefined
  #envelope: Envelope | undefined
  #project: Project | undefined

  constructor(incoming: IncomingMessage, client: Client, startedAt: number, receipt: PendingReceipt) {
    this.incoming = incoming
    this.client = client
    this.startedAt = startedAt
    this.receipt = receipt
  }

  /** Calls `listener` with the outcome before it is recorded, also when the envelope was rejected. */
  onOutcome(listener: (outcome: Outcome) => void): void {
    this.#outcomeListeners.push(listener)
  }

  /** Calls each listener once. */
  announceOutcome(outcome: Outcome): void {
    for (const listener of this.#outcomeListeners.splice(0)) listener(outcome)
  }

  get body(): Body {
    return this.#body ?? notSet('body')
  }

  set body(body: Body) {
    this.#body = body
  }

  get envelope(): Envelope {
    return this.#envelope ?? notSet('envelope')
  }

  set envelope(envelope: Envelope) {
    this.#envelope = envelope
  }

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

  /** Removes items before the envelope is forwarded. The reason goes into the receipt and into a client report to Sentry. */
  remove(items: Iterable<Item>, reason: string): void {
    for (const item of items) this.removed.set(item, reason)
  }

  /** Removes elements of a container: `parts` stand for them, and `payload` has the others. */
  removeElements(container: Item, parts: ReadonlyMap<Item, string>, payload: Buffer): void {
    let count = Number(container.header.item_count)
    for (const [part, reason] of parts) {
      this.removedElements.set(part, reason)
      container.bytes -= part.bytes
      count -= Number(part.header.item_count)
    }
    container.header = { ...container.header, item_count: count }
    const place = container.layout?.count
    if (place) this.changedRanges.push([...place, Buffer.from(String(count))])
    this.replacePayload(container, payload)
  }

  /** Replaces the payload of an item, and its length in the header. */
  replacePayload(item: Item, payload: Buffer): void {
    if (!item.layout) return
    item.payload = [payload]
    const { payload: place, length } = item.layout
    this.changedRanges.unshift([...place, payload])
    if (length) this.changedRanges.unshift([...length, Buffer.from(String(payload.length))])
  }

  /** The envelope with the items that no policy has removed. */
  remaining(): Envelope {
    const { envelope, removed } = this
    if (removed.size === 0) return envelope
    return { ...envelope, items: envelope.items.filter((item) => !removed.has(item)) }
  }

  /** Returns the ranges of the body that are not forwarded, or replaced. */
  outgoingRanges(): Range[] {
    return mergeRanges([
      ...this.envelope.removedRanges,
      ...this.changedRanges,
      ...Array.from(this.removed.keys(), ({ range }) => range),
    ])
  }

  /** Releases the bodies, or lets the pending attempts do so when they end. */
  releaseBodies(): Promise<unknown> | undefined {
    if (this.pendingAttempts.length > 0) {
      void Promise.allSettled(this.pendingAttempts).then(() => this.#releaseAll())
      return undefined
    }
    return this.derivedBodies.length > 0 ? this.#releaseAll() : this.#body?.release()
  }

  #releaseAll(): Promise<unknown> {
    return Promise.all([this.#body, ...this.derivedBodies].map((body) => body?.release()))
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
  { envelope: { eventId } }: Context,
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
export function spooled(ctx: Context, result: 'stored' | 'known'): Outcome {
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
