/** The ingest pipeline: all stages, in order. `docs/architecture.md` shows how to add one. */

import type { IncomingMessage } from 'node:http'
import { type ForwardServices, forwardStage } from '../forward/forward-stage.ts'
import { type UpstreamLimits, upstreamLimitsStage } from '../forward/limits/upstream-limits.ts'
import type { Mirrors } from '../forward/mirrors.ts'
import type { ClientReports } from '../pipeline/client-reports.ts'
import {
  Context,
  type HttpResponse,
  type Outcome,
  type PendingReceipt,
  type Stage,
} from '../pipeline/pipeline.ts'
import { type Filters, filterStage } from '../policy/filters/filters.ts'
import type { ProxyFaults } from '../policy/proxy-detection.ts'
import { type Quotas, quotaStage } from '../policy/quota/quotas.ts'
import { type AddressMode, reduceAddressStage } from '../policy/reduce-address.ts'
import { removedItemsStage } from '../policy/removed-items.ts'
import type { Scrubbing } from '../policy/scrub/scrub.ts'
import { scrubStage } from '../policy/scrub/scrub-stage.ts'
import { type Storms, stormStage } from '../policy/storms.ts'
import { chargeAddressStage, RESERVED_FROM_REPORTS, throttleStage } from '../policy/throttle.ts'
import { checkSizeStage } from '../store/envelope-size.ts'
import type { ClientResolver, ResolvedClient } from './client-address.ts'
import { checkOriginStage } from './origin.ts'
import { type OutcomeServices, rejected, respond } from './outcome.ts'
import {
  checkItemsStage,
  decodeBodyStage,
  dropPayloads,
  parseEnvelope,
  receiveBodyStage,
  resolveProjectStage,
} from './receive.ts'
import {
  checkReportOriginStage,
  type ReportServices,
  receiveReportsStage,
  runReportsStage,
} from './reports.ts'

type IngestServices = OutcomeServices &
  ReportServices & {
    resolveClient: ClientResolver
    proxyFaults: ProxyFaults
    filters: Filters
    limits: UpstreamLimits
    /** Absent: identical errors are not counted. */
    storms: Storms | undefined
    /** Absent without a quota. */
    quotas: Quotas | undefined
    /** Absent: payloads are forwarded unmodified. */
    scrubbing: Scrubbing | undefined
    clientAddress: AddressMode
    reports: ClientReports
    forwarding: ForwardServices['forwarding']
    upstreamEncoding: ForwardServices['upstreamEncoding']
    /** Absent without `MIRROR_DSN`. */
    mirrors: Mirrors | undefined
    keeping: ForwardServices['keeping']
    /** Bytes of kept envelopes. */
    keptBytes: number
    onKeepFault: ForwardServices['onKeepFault']
    replica: string
    /** Milliseconds since 1970. */
    now: () => number
  }

/** Lists the stages of a request with an envelope, in order: from its head to its decoded body. */
function listReceivingStages(services: IngestServices): Stage[] {
  return [
    checkOriginStage(services.allowedOrigins),
    receiveBodyStage(services),
    chargeAddressStage(services.throttle),
    decodeBodyStage(services),
  ]
}

/** Lists the stages of an envelope in order, without those that are off. Stages that remove items stand before `removedItemsStage`. */
function listEnvelopeStages(services: IngestServices): Stage[] {
  const { filters, limits, throttle, storms, quotas, scrubbing, clientAddress, mirrors } = services
  const chargeScrubbing = (address: string | undefined, bytes: number) =>
    void throttle.chargeDecompressed(address, bytes, Infinity)
  return [
    parseEnvelope,
    resolveProjectStage(services),
    checkItemsStage(services),
    filterStage(filters),
    mirrors ? undefined : upstreamLimitsStage(limits),
    storms && stormStage(storms),
    throttleStage(throttle),
    quotas && quotaStage(quotas),
    scrubbing && scrubStage(scrubbing, chargeScrubbing),
    clientAddress === 'forward' ? undefined : reduceAddressStage(clientAddress),
    ...listMirrorStages(services),
    dropPayloads,
    removedItemsStage(limits, services.reports),
    inboxStage(services),
    createForwardStage(services),
  ].filter((stage) => stage !== undefined)
}

/** Mirrors have rate limits of their own, so those of the project apply after them. */
function listMirrorStages({ mirrors, limits }: IngestServices): Stage[] {
  return mirrors ? [mirrors.stage(), upstreamLimitsStage(limits)] : []
}

function createForwardStage(services: IngestServices): Stage {
  const { mirrors } = services
  const forward = forwardStage(services)
  return mirrors ? mirrors.waitAfter(forward) : forward
}

function inboxStage({ keeping, keptBytes }: IngestServices): Stage | undefined {
  return keeping === 'all' ? checkSizeStage(keptBytes) : undefined
}

/** Handles requests on tunnel paths by running the stages. */
export class Ingest {
  readonly #services: IngestServices
  readonly #stages: readonly Stage[]
  /** Stages of a post of browser reports. Each report then passes the stages of an envelope. */
  readonly #reportStages: readonly Stage[]
  #requests = 0
  #inFlight = 0
  #unfinished = 0
  #onIdle: PromiseWithResolvers<void> | undefined

  constructor(services: IngestServices) {
    this.#services = services
    const envelopeStages = listEnvelopeStages(services)
    this.#stages = [...listReceivingStages(services), ...envelopeStages]
    this.#reportStages = [
      checkReportOriginStage(services.allowedOrigins),
      receiveReportsStage(services),
      chargeAddressStage(services.throttle, RESERVED_FROM_REPORTS),
      runReportsStage(services, ({ incoming, client, receipt }, translate) =>
        this.#run(this.#createContext(incoming, { ...client, flags: receipt.flags ?? [] }), [
          translate,
          ...envelopeStages,
        ]),
      ),
    ]
  }

  /** Handles a request with one envelope. */
  handle(incoming: IncomingMessage): Promise<HttpResponse> {
    return this.#track(incoming, this.#stages)
  }

  /** Handles a request with browser reports. */
  handleReports(incoming: IncomingMessage): Promise<HttpResponse> {
    return this.#track(incoming, this.#reportStages)
  }

  async #track(incoming: IncomingMessage, stages: readonly Stage[]): Promise<HttpResponse> {
    const client = this.#services.resolveClient(incoming)
    if (!isFromServer(client, incoming)) this.#services.proxyFaults.note(client, incoming.headers.host)
    const ctx = this.#createContext(incoming, client)
    this.#inFlight++
    try {
      return await this.#run(ctx, stages)
    } finally {
      this.#inFlight--
      this.#noteIdle()
    }
  }

  async #run(ctx: Context, stages: readonly Stage[]): Promise<HttpResponse> {
    let isUnfinished = false
    try {
      try {
        let outcome: Outcome | undefined
        for (let at = 0; outcome === undefined && at < stages.length; at++) {
          const result = stages[at]?.(ctx) // an iterator would be 0.5 KB of garbage
          outcome = result instanceof Promise ? await result : result
        }
        if (!outcome) throw new Error('no stage has ended the pipeline')
        const response = respond(ctx, outcome, this.#services)
        if (outcome.after) {
          isUnfinished = true
          void this.#finish(ctx, outcome.after())
        }
        return response
      } finally {
        const released = isUnfinished ? undefined : ctx.releaseBodies()
        if (released) await released
      }
    } catch (error) {
      return respond(ctx, rejected(ctx, error, this.#services), this.#services)
    } finally {
      if (!isUnfinished) ctx.parser?.release()
    }
  }

  /** Releases what a request holds when `work`, for which its response does not wait, has ended. */
  async #finish(ctx: Context, work: Promise<void>): Promise<void> {
    this.#unfinished++
    try {
      await work
      await ctx.releaseBodies()
    } catch (error) {
      this.#services.onBug(error, ctx.client.requestId)
    } finally {
      ctx.parser?.release()
      this.#unfinished--
      this.#noteIdle()
    }
  }

  #noteIdle(): void {
    if (this.#inFlight + this.#unfinished === 0) this.#onIdle?.resolve()
  }

  #createContext(incoming: IncomingMessage, client: Omit<ResolvedClient, 'isPeerTrusted'>): Context {
    const { replica, now, clock } = this.#services
    const id = `${replica}-${(++this.#requests).toString(36)}`
    const receipt: PendingReceipt = { id, time: now(), items: [], bytes: 0, replica }
    if (client.flags.length > 0) receipt.flags = client.flags
    return new Context(incoming, client, clock(), receipt)
  }

  inFlight(): number {
    return this.#inFlight
  }

  /** Resolves when no request is being handled, and what follows the responses is done. */
  async idle(): Promise<void> {
    if (this.#inFlight + this.#unfinished === 0) return
    this.#onIdle ??= Promise.withResolvers()
    await this.#onIdle.promise
  }
}

/** Returns `true` for a post of a server's SDK that no proxy has passed on: it has no address, and needs none. Browsers send one of these headers. */
function isFromServer({ flags }: ResolvedClient, { headers }: IncomingMessage): boolean {
  const { cookie, origin, referer, 'sec-fetch-site': site } = headers
  return (
    flags.includes('address-missing') && [cookie, origin, referer, site].every((value) => value === undefined)
  )
}
