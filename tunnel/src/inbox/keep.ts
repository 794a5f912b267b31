/** Envelopes on their way into the inbox. Each is in memory as a whole meanwhile. */

import { networkOf } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import type { MemoryBudget } from '../body/memory-budget.ts'
import { mergeRanges, removeRanges, sizeOfRanges } from '../body/ranges.ts'
import type { Context, Stage } from '../pipeline.ts'
import { shareOf } from './inbox.ts'
import type { InboxClient } from './inbox-client.ts'
import { readStored } from './stored.ts'
import { summarise } from './summary.ts'

/** Size of the largest envelope that the inbox stores. */
export const ENTRY_BYTES = 32 * 1024 * 1024 // an entry is one value of a row, and held in memory with SQLite's copy of it

const SUMMARY_BYTES = 64 * 1024 // at most
const WAIT_MS = 10_000
const MAX_COPIES = 256 // each holds the body of its envelope

type KeepDeps = { inbox: InboxClient; memory: MemoryBudget }

/** Rejects envelopes that the inbox cannot store, before they are spooled. */
export function checkSizeStage(): Stage {
  return function checkSize(ctx) {
    const bytes = ctx.envelope.bytes - sizeOfRanges(ctx.outgoingRanges())
    const maxBytes = Math.min(ENTRY_BYTES, shareOf(networkOf(ctx.client.address)) - SUMMARY_BYTES)
    if (bytes > maxBytes)
      throw new Rejection(
        'envelope-too-large',
        `Decompressed, it is larger than the ${maxBytes} bytes that the inbox accepts from one client address.`,
      )
    return undefined
  }
}

/**
 * Stores a copy of a forwarded envelope once its outcome is known. The response does not wait for it, and a failure does not change it. While
 * 256 copies wait for a slow disk or a locked file, no more are made.
 */
export function copyToInboxStage(deps: KeepDeps, onError: (error: unknown) => void): Stage {
  let copies = 0
  return function copyToInbox(ctx) {
    if (copies === MAX_COPIES) return undefined
    ctx.afterOutcome = async () => {
      copies++
      try {
        await keepEnvelope(deps, copyOf(ctx), ctx.receipt, networkOf(ctx.client.address))
      } catch (error) {
        onError(error)
      } finally {
        copies--
      }
    }
    return undefined
  }
}

/** Bytes of an envelope, decompressed. */
type Content = { content: () => AsyncIterable<Buffer> | Iterable<Buffer>; bytes: number }

/** Without scrubbing, the copy has the items that filters and limits have removed. */
function copyOf(ctx: Context): Content {
  const { envelope, body } = ctx
  const ranges = ctx.scrubPage ? ctx.outgoingRanges() : mergeRanges(envelope.removedRanges)
  return {
    content: () => removeRanges(body.decompressed(), ranges),
    bytes: envelope.bytes - sizeOfRanges(ranges),
  }
}

/** Stores an envelope, unless it is there already. Returns its event ID. Rejects when the disk fails or memory is short. */
export async function keepEnvelope(
  { inbox, memory }: KeepDeps,
  { content, bytes }: Content,
  { id, time }: { id: string; time: number },
  network: string,
): Promise<string | undefined> {
  if (bytes > ENTRY_BYTES) throw new Error('the envelope is too large for the inbox')
  const release = await memory.acquire(2 * bytes, WAIT_MS)
  try {
    const envelope = await wholeOf(content(), bytes)
    const { items, eventId } = readStored(envelope)
    const summary = summarise({ id, event_id: eventId ?? null }, items, envelope)
    const types = items.map(({ type }) => type)
    await inbox.keep({ id, time, eventId: eventId ?? null, types, summary, envelope }, network)
    return eventId
  } finally {
    release()
  }
}

/** Reads a body of `bytes` into one buffer, which can be transferred to another thread. */
async function wholeOf(body: ReturnType<Content['content']>, bytes: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for await (const chunk of body) at += chunk.copy(whole, at)
  return whole.subarray(0, at)
}
