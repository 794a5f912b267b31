/** First stages of the pipeline: from the bytes of a request to a checked envelope of a known project. */

import type { MemoryBudget } from '../body/memory-budget.ts'
import type { Bodies } from '../body/receive.ts'
import type { FilteredReason } from '../contract.ts'
import { checkItems } from '../envelope/items.ts'
import {
  createEnvelopeReader,
  type Envelope,
  type EnvelopeReader,
  halveHeaderLimits,
  type ReaderLimits,
} from '../envelope/reader.ts'
import { describe, describeHeader } from '../envelope/summary.ts'
import {
  accepted,
  type Context,
  type IncomingParser,
  jsonHeaders,
  type Outcome,
  type Stage,
} from '../pipeline.ts'
import { addressLimited, type Throttle } from '../policy/throttle.ts'
import type { Projects } from '../projects.ts'
import { Rejection } from '../rejections.ts'
import type { SdkInventory } from '../telemetry/sdk-inventory.ts'
import { readQuery } from './query.ts'

export type ReceiveServices = {
  bodies: Bodies
  memory: MemoryBudget
  projects: Projects
  throttle: Throttle
  sdkInventory: SdkInventory
  reader: ReaderLimits
  /** Bytes of a decoded body. */
  maxBytes: number
}

const LIGHT_BYTES = 32 * 1024 // of headers and items, however little memory is left: 200 items, or a long header

/** Receives the body and parses it while it arrives. An envelope of no known project is rejected at its first line. */
export function receiveBodyStage({ bodies, memory, projects, reader }: ReceiveServices): Stage {
  const retryLimits = { ...reader, ...halveHeaderLimits(reader) }
  return async function receiveBody(ctx) {
    const query = readQuery(ctx.incoming.url ?? '')
    const parser = new MeteredParser(
      createEnvelopeReader(ctx.client.isRetry ? retryLimits : reader, (header) => {
        describeHeader(ctx.receipt, header)
        ctx.project = projects.resolve(header.dsn, query)
        ctx.receipt.project = ctx.project.name
      }),
      memory,
    )
    ctx.parser = parser
    ctx.body = await bodies.receive(ctx.incoming, (chunk) => parser.push(chunk))
    return undefined
  }
}

/** Counts what a parser holds against the memory budget. */
class MeteredParser implements IncomingParser {
  readonly #reader: EnvelopeReader
  readonly #memory: MemoryBudget
  #heldBytes = 0

  constructor(reader: EnvelopeReader, memory: MemoryBudget) {
    this.#reader = reader
    this.#memory = memory
  }

  push(chunk: Buffer): void {
    this.#reader.push(chunk)
    this.#hold(this.#reader.parsedBytes() + this.#reader.keptBytes())
    if (this.#reader.parsedBytes() > LIGHT_BYTES && this.#memory.isExceeded())
      throw new Rejection('tunnel-busy')
  }

  end(): Envelope {
    return this.#reader.end()
  }

  dropPayload(): void {
    this.#reader.dropPayload()
    this.#hold(this.#reader.parsedBytes())
  }

  release(): void {
    this.#hold(0)
  }

  #hold(bytes: number): void {
    this.#memory.reserve(bytes - this.#heldBytes)
    this.#heldBytes = bytes
  }
}

/** Decodes a compressed body, parses it, and charges the bytes beyond those on the wire to the client address. */
export function decodeBodyStage({ throttle, maxBytes }: ReceiveServices): Stage {
  return function decodeBody(ctx) {
    return ctx.body.encoding === 'identity' ? undefined : decode(ctx, throttle, maxBytes)
  }
}

async function decode(ctx: Context, throttle: Throttle, maxBytes: number): Promise<Outcome | undefined> {
  const { body, parser, client } = ctx
  let bytes = 0
  for await (const chunk of body.decompressed()) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new Rejection('envelope-too-large', `Unpacked, it is larger than ${maxBytes} bytes.`)
    const further = Math.min(chunk.length, bytes - body.wireBytes)
    if (further > 0 && !throttle.chargeUnpacked(client.address, further, maxBytes)) return addressLimited(ctx)
    parser?.push(chunk)
  }
  return undefined
}

/** Ends the parsing. Answers connectivity probes, which leave no receipt. */
export function parseEnvelope(ctx: Context): Outcome | undefined {
  if (!ctx.parser) throw new Error('no body was received')
  ctx.envelope = ctx.parser.end()
  if (isProbe(ctx.envelope)) return { status: 200, body: '{}', headers: jsonHeaders() }
  describe(ctx.receipt, ctx.envelope)
  return undefined
}

/** Envelope of the SDK's `diagnoseSdkConnectivity`. */
function isProbe({ isHeaderEmpty, items }: Envelope): boolean {
  return items.length === 0 && isHeaderEmpty
}

/** Makes sure that the envelope has a project; as a rule the first line has named it while the body arrived. */
export function resolveProjectStage({ projects, sdkInventory }: ReceiveServices): Stage {
  return function resolveProject(ctx) {
    const { header } = ctx.envelope
    if (!ctx.hasProject()) ctx.project = projects.resolve(header.dsn, {})
    sdkInventory.note(ctx.project.name, ctx.receipt.sdk, header.trace?.release, ctx.receipt.time)
    return undefined
  }
}

/** Rejects items that Relay would not take. Filters an envelope without items. */
export function checkEnvelopeItems(ctx: Context): Outcome | undefined {
  const { items } = ctx.envelope
  checkItems(items)
  if (items.length > 0) return undefined
  return accepted(ctx, { outcome: 'filtered', reason: 'empty' satisfies FilteredReason, status: 200 })
}
