/** First stages of the pipeline: from the bytes of a request to a checked envelope of a known project. */

import type { FilteredReason } from 'contract/admin-api'
import { networkOf, networksAround } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import type { Bodies, Body } from '../envelope/body/bodies.ts'
import type { MemoryBudget } from '../envelope/body/memory-budget.ts'
import { halveHeaderLimits } from '../envelope/headers.ts'
import { checkItems, type ItemSizes, markEventAttachment } from '../envelope/items.ts'
import { EnvelopeReader, type ReaderLimits } from '../envelope/reader.ts'
import { describeHeader, summarise } from '../envelope/summary.ts'
import type { SdkInventory } from '../observe/sdk-inventory.ts'
import {
  accepted,
  type Context,
  jsonHeaders,
  type Outcome,
  type Parts,
  type Stage,
} from '../pipeline/pipeline.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { Refusable } from '../policy/rate-limited.ts'
import { addressLimited, type Throttle } from '../policy/throttle.ts'
import { readQuery } from './query.ts'

export type ReceiveServices = {
  bodies: Bodies
  openBodies: OpenBodies
  memory: MemoryBudget
  projects: Projects
  throttle: Throttle
  sdkInventory: SdkInventory
  reader: ReaderLimits
  itemSizes: ItemSizes
  /** Bytes of a decoded body. */
  maxBytes: number
}

/** Receives the body and parses it while it arrives. An envelope of no known project is rejected at its first line. */
export function receiveBodyStage({
  bodies,
  openBodies,
  memory,
  projects,
  reader,
}: ReceiveServices): Stage<
  'incoming' | keyof Refusable,
  'parser' | 'postedDsn' | 'body' | 'project' | 'receipt'
> {
  const retryLimits = { ...reader, ...halveHeaderLimits(reader) }
  return function receiveBody(ctx) {
    const query = readQuery(ctx.incoming.url ?? '')
    const parser = new EnvelopeReader(ctx.client.isRetry ? retryLimits : reader, {
      memory,
      onHeader(header) {
        describeHeader(ctx.receipt, header, ctx.incoming.headers['x-sentry-auth'])
        ctx.postedDsn = header.dsn
        ctx.project = projects.resolve(header.dsn, query)
        ctx.receipt.project = ctx.project.name
      },
    })
    ctx.parser = parser
    return openBodies.receive(ctx, () => bodies.receive(ctx.incoming, (chunk) => parser.push(chunk)))
  }
}

/** Decodes a compressed body, parses it, and charges the bytes beyond those on the wire to the client address. */
export function decodeBodyStage({ throttle, maxBytes }: ReceiveServices): Stage<keyof Compressed> {
  return function decodeBody(ctx) {
    return ctx.body.encoding === 'identity' ? undefined : decode(ctx, throttle, maxBytes)
  }
}

type Compressed = Refusable & Parts<'body' | 'parser'>

async function decode(ctx: Compressed, throttle: Throttle, maxBytes: number): Promise<Outcome | undefined> {
  const { body, parser, client } = ctx
  let bytes = 0
  for await (const chunk of body.decompressed()) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new Rejection('envelope-too-large', `Decompressed, it is larger than ${maxBytes} bytes.`)
    const further = Math.min(chunk.length, bytes - body.wireBytes)
    if (further > 0 && !throttle.chargeDecompressed(client.address, further, maxBytes))
      return addressLimited(ctx)
    parser?.push(chunk)
  }
  return undefined
}

/** Ends the parsing. Responds to connectivity probes, which leave no receipt. Rejects events without an envelope. */
export function parseEnvelope(
  ctx: Parts<'parser' | 'removed'> & Pick<Context, 'envelope' | 'receipt'>,
): Outcome | undefined {
  if (!ctx.parser) throw new Error('no body was received')
  ctx.envelope = ctx.parser.end()
  const { isHeaderEmpty, mayBeEvent, items } = ctx.envelope
  const isProbe = isHeaderEmpty && items.length === 0 // of the SDK's `diagnoseSdkConnectivity`
  if (isProbe) return { status: 200, body: '{}', headers: jsonHeaders() }
  if (mayBeEvent && items.length === 0) throw new Rejection('items-missing')
  markEventAttachment(items)
  ctx.receipt.items = summarise(items, ctx.removed)
  return undefined
}

/** Drops the payloads that filters and scrubbing have read, which no later stage needs. */
export function dropPayloads(ctx: Parts<'parser' | 'changedRanges'>): undefined {
  ctx.parser?.dropPayload(ctx.changedRanges.reduce((bytes, [, , held]) => bytes + (held?.length ?? 0), 0))
}

/** Resolves the project unless `receiveBodyStage` has. */
export function resolveProjectStage({
  projects,
  sdkInventory,
}: ReceiveServices): Stage<'envelope' | 'hasProject' | 'receipt', 'project'> {
  return function resolveProject(ctx) {
    const { header } = ctx.envelope
    if (!ctx.hasProject()) ctx.project = projects.resolve(header.dsn, {})
    sdkInventory.note(ctx.project.name, ctx.receipt.sdk, header.trace?.release, ctx.receipt.time)
    sdkInventory.noteItems(ctx.project.name, ctx.envelope.items, ctx.receipt.time)
    return undefined
  }
}

/** Rejects items that the server does not accept. Filters an envelope without items. */
export function checkItemsStage({ itemSizes }: ReceiveServices): Stage<'envelope'> {
  return function checkEnvelopeItems(ctx) {
    const { items } = ctx.envelope
    checkItems(items, itemSizes)
    if (items.length > 0) return undefined
    return accepted(ctx, { outcome: 'filtered', reason: 'empty' satisfies FilteredReason })
  }
}

/** Above the requests that two nginx forward from one address. */
export const MAX_OPEN_BODIES = 110

/** Networks without an open body that are kept: a map of which entries come and go with each request is built again and again. */
const MAX_IDLE = 1_000

/** Counts the bodies that are being received, by client network: slow senders must not take all connections. */
export class OpenBodies {
  readonly #counts = new Map<string, { open: number }>()
  #maxSize = MAX_IDLE

  /** Networks in memory. */
  get size(): number {
    return this.#counts.size
  }

  /** Sets the body of `ctx`, or returns the outcome when its client address sends too many at the same time. Private addresses have no limit. */
  async receive(
    ctx: Refusable & Pick<Context, 'body'>,
    receive: () => Promise<Body>,
  ): Promise<Outcome | undefined> {
    if (this.#counts.size >= this.#maxSize) this.#dropIdle()
    const networks = networksAround(networkOf(ctx.client.address))
    const counts = networks.map(({ name }) => this.#find(name))
    const full = counts.find(({ open }, i) => open >= MAX_OPEN_BODIES * (networks[i]?.factor ?? 1))
    if (full) return addressLimited(ctx, `${full.open} bodies of its network are arriving at the same time.`)
    for (const count of counts) count.open++
    try {
      ctx.body = await receive()
      return undefined
    } finally {
      for (const count of counts) count.open--
    }
  }

  #find(name: string): { open: number } {
    const known = this.#counts.get(name)
    if (known) return known
    const count = { open: 0 }
    this.#counts.set(name, count)
    return count
  }

  #dropIdle(): void {
    for (const [name, { open }] of this.#counts) if (open === 0) this.#counts.delete(name)
    this.#maxSize = this.#counts.size + MAX_IDLE
  }
}
