/** Puts envelopes into the inbox as they came, one at a time: each is held as a whole for a moment. */

import type { Memory } from '../body/memory-budget.ts'
import type { Body } from '../body/receive.ts'
import type { InboxEntry } from '../contract.ts'
import { networkOf } from '../policy/throttle.ts'
import { Rejection } from '../rejections.ts'
import type { Inbox } from './inbox.ts'

/** Rejects with a `Rejection` when it cannot be kept. `entry.bytes` are those of the unpacked body. */
export type Keep = (entry: InboxEntry, address: string | undefined, body: Body) => Promise<void>

const ENTRY_BYTES = 32 * 1024 * 1024 // an entry is one value of a row, and held in memory with SQLite's copy of it

export function createKeep(inbox: Inbox, memory: Memory): Keep {
  let last: Promise<void> = Promise.resolve()
  return async function keep(entry, address, body) {
    if (entry.bytes > ENTRY_BYTES)
      throw new Rejection('envelope-too-large', `The inbox takes ${ENTRY_BYTES} bytes at most, unpacked.`)
    const kept = last.then(() => put(entry, address, body))
    last = kept.catch(() => undefined)
    return kept
  }

  async function put(entry: InboxEntry, address: string | undefined, body: Body): Promise<void> {
    memory.take(2 * entry.bytes)
    try {
      const envelope = await wholeOf(body, entry.bytes)
      write(entry, networkOf(address), envelope)
    } finally {
      memory.giveBack(2 * entry.bytes)
    }
  }

  function write(entry: InboxEntry, network: string, envelope: Buffer): void {
    try {
      inbox.keep(entry, network, envelope)
    } catch (error) {
      throw new Rejection('inbox-full', error instanceof Error ? error.message : 'unknown')
    }
  }
}

async function wholeOf(body: Body, bytes: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(bytes)
  let at = 0
  for await (const chunk of body.unpacked()) at += chunk.copy(whole, at)
  return whole.subarray(0, at)
}
