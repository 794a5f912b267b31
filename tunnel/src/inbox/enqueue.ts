/** Stages that store envelopes in the inbox, unmodified unless they are scrubbed, and one at a time: each is in memory as a whole meanwhile. */

import { networkOf } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import type { MemoryBudget } from '../body/memory-budget.ts'
import { mergeRanges, type Range, removeRanges, sizeOfRanges } from '../body/ranges.ts'
import type { Item } from '../envelope/items.ts'
import type { Context, Stage } from '../pipeline.ts'
import type { NewEntry } from './inbox.ts'
import type { InboxClient } from './inbox-client.ts'
import { summarise } from './summary.ts'

/** Size of the largest envelope that the inbox stores. */
export const ENTRY_BYTES = 32 * 1024 * 1024 // an entry is one value of a row, and held in memory with SQLite's copy of it

/** Stores the envelope in the inbox. Rejects it when the inbox cannot store it. */
export function storeInInboxStage(inbox: InboxClient, memory: MemoryBudget): Stage {
  const queue = new InboxQueue(inbox, memory)
  return async function storeInInbox(ctx) {
    await queue.add(ctx)
    return undefined
  }
}

/**
 * Stores a copy of a forwarded envelope once its outcome is known. The response does not wait for it, and a failure does not change it. While
 * 256 copies wait for a slow disk or a locked file, no more are made.
 */
export function copyToInboxStage(inbox: InboxClient, memory: MemoryBudget, onBug: OnBug): Stage {
  const queue = new InboxQueue(inbox, memory)
  return function copyToInbox(ctx) {
    if (queue.length < MAX_COPIES)
      ctx.afterOutcome = () =>
        queue.add(ctx).catch((error) => {
          if (!(error instanceof Rejection)) onBug(error, ctx.client.requestId)
        })
    return undefined
  }
}

const MAX_COPIES = 256 // each holds the body of its envelope

type OnBug = (error: unknown, requestId: string) => void

/** Stores one envelope at a time. */
class InboxQueue {
  readonly #inbox: InboxClient
  readonly #memory: MemoryBudget
  #last: Promise<void> = Promise.resolve()
  #length = 0

  constructor(inbox: InboxClient, memory: MemoryBudget) {
    this.#inbox = inbox
    this.#memory = memory
  }

  get length(): number {
    return this.#length
  }

  /** Rejects with a `Rejection` when the envelope cannot be stored. */
  async add(ctx: Context): Promise<void> {
    const ranges = ctx.scrubPage ? ctx.outgoingRanges() : mergeRanges(ctx.envelope.removedRanges)
    const bytes = ctx.envelope.bytes - sizeOfRanges(ranges)
    if (bytes > ENTRY_BYTES)
      throw new Rejection(
        'envelope-too-large',
        `Decompressed, it is larger than the ${ENTRY_BYTES} bytes that the inbox accepts.`,
      )
    this.#length++
    const stored = this.#last
      .then(() => this.#store(ctx, ranges, bytes))
      .finally(() => {
        this.#length--
      })
    this.#last = stored.catch(() => undefined)
    return stored
  }

  async #store(ctx: Context, ranges: readonly Range[], bytes: number): Promise<void> {
    const { envelope, receipt, client, body } = ctx
    this.#memory.reserve(2 * bytes)
    try {
      const { items } = ctx.scrubPage ? ctx.remaining() : envelope
      const { eventId = null } = envelope
      const { id, time } = receipt
      const whole = await wholeOf(removeRanges(body.decompressed(), ranges), bytes)
      const stored = items.map((item) => itemWithout(item, ranges))
      const summary = summarise({ id, event_id: eventId }, stored, whole)
      const types = items.map(({ type }) => type)
      await this.#write({ id, time, eventId, types, summary, envelope: whole }, networkOf(client.address))
    } finally {
      this.#memory.release(2 * bytes)
    }
  }

  async #write(entry: NewEntry, network: string): Promise<void> {
    try {
      await this.#inbox.keep(entry, network)
    } catch (error) {
      throw new Rejection('inbox-full', error instanceof Error ? error.message : 'unknown')
    }
  }
}

/** Reads a body of `bytes` into one buffer, which can be transferred to another thread. */
export async function wholeOf(
  body: AsyncIterable<Buffer> | Iterable<Buffer>,
  bytes: number,
): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for await (const chunk of body) at += chunk.copy(whole, at)
  return whole.subarray(0, at)
}

/** Returns an item with its positions in the body without the ranges. */
function itemWithout(item: Item, ranges: readonly Range[]): Item {
  if (ranges.length === 0) return item
  const [start, end] = item.range
  const before = (offset: number) => offset - sizeOfRanges(ranges.filter((range) => range[1] <= offset))
  const payloadStart = item.layout?.payloadStart ?? end
  const removed = end - payloadStart - (before(end) - before(payloadStart))
  return { ...item, range: [before(start), before(end)], bytes: item.bytes - removed }
}
