/** Stages that store envelopes in the inbox, unmodified and one at a time: each is in memory as a whole meanwhile. */

import type { MemoryBudget } from '../body/memory-budget.ts'
import type { Body } from '../body/receive.ts'
import type { InboxEntry } from '../contract.ts'
import type { Context, Stage } from '../pipeline.ts'
import { networkOf } from '../policy/throttle.ts'
import { Rejection } from '../rejections.ts'
import type { Inbox } from './inbox.ts'

const ENTRY_BYTES = 32 * 1024 * 1024 // an entry is one value of a row, and held in memory with SQLite's copy of it

/** Stores the envelope in the inbox. Rejects it when the inbox cannot store it. */
export function storeInInboxStage(inbox: Inbox, memory: MemoryBudget): Stage {
  const queue = new InboxQueue(inbox, memory)
  return async function storeInInbox(ctx) {
    await queue.add(ctx)
    return undefined
  }
}

/** Stores a copy of a forwarded envelope once its outcome is known, which a failure does not change. */
export function copyToInboxStage(inbox: Inbox, memory: MemoryBudget, onBug: OnBug): Stage {
  const queue = new InboxQueue(inbox, memory)
  return function copyToInbox(ctx) {
    ctx.afterOutcome = () =>
      queue.add(ctx).catch((error) => {
        if (!(error instanceof Rejection)) onBug(error, ctx.client.requestId)
      })
    return undefined
  }
}

type OnBug = (error: unknown, requestId: string) => void

/** Stores one envelope at a time. */
class InboxQueue {
  readonly #inbox: Inbox
  readonly #memory: MemoryBudget
  #last: Promise<void> = Promise.resolve()

  constructor(inbox: Inbox, memory: MemoryBudget) {
    this.#inbox = inbox
    this.#memory = memory
  }

  /** Rejects with a `Rejection` when the envelope cannot be stored. */
  async add({ envelope, receipt, client, body }: Context): Promise<void> {
    const { bytes } = envelope
    if (bytes > ENTRY_BYTES)
      throw new Rejection(
        'envelope-too-large',
        `Decompressed, it is larger than the ${ENTRY_BYTES} bytes that the inbox accepts.`,
      )
    const types = envelope.items.map(({ type }) => type)
    const { id, time } = receipt
    const entry = { id, time, event_id: envelope.eventId ?? null, types, bytes }
    const stored = this.#last.then(() => this.#store(entry, client.address, body))
    this.#last = stored.catch(() => undefined)
    return stored
  }

  async #store(entry: InboxEntry, address: string | undefined, body: Body): Promise<void> {
    this.#memory.reserve(2 * entry.bytes)
    try {
      const envelope = await wholeOf(body, entry.bytes)
      this.#write(entry, networkOf(address), envelope)
    } finally {
      this.#memory.release(2 * entry.bytes)
    }
  }

  #write(entry: InboxEntry, network: string, envelope: Buffer): void {
    try {
      this.#inbox.keep(entry, network, envelope)
    } catch (error) {
      throw new Rejection('inbox-full', error instanceof Error ? error.message : 'unknown')
    }
  }
}

async function wholeOf(body: Body, bytes: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(bytes)
  let at = 0
  for await (const chunk of body.decompressed()) at += chunk.copy(whole, at)
  return whole.subarray(0, at)
}
