/** Puts envelopes into the inbox as they came, one at a time: each is held as a whole for a moment. */

import type { Body } from './body.ts'
import type { InboxEntry } from './contract.ts'
import type { Inbox } from './inbox.ts'
import { Rejection } from './rejection.ts'
import { networkOf } from './throttle.ts'
import { unpacked } from './unpack.ts'

/** Rejects with a `Rejection` when it cannot be kept. */
export type Keep = (
  entry: Omit<InboxEntry, 'bytes'>,
  address: string | undefined,
  body: Body,
) => Promise<void>

export function createKeep(inbox: Inbox): Keep {
  let last: Promise<void> = Promise.resolve()
  return function keep(entry, address, body) {
    const kept = last.then(async () => put(inbox, entry, address, await wholeOf(body)))
    last = kept.catch(() => undefined)
    return kept
  }
}

function put(
  inbox: Inbox,
  entry: Omit<InboxEntry, 'bytes'>,
  address: string | undefined,
  bytes: Buffer,
): void {
  try {
    inbox.keep({ ...entry, bytes: bytes.length }, networkOf(address), bytes)
  } catch (error) {
    throw new Rejection('inbox-full', error instanceof Error ? error.message : 'unknown')
  }
}

async function wholeOf(body: Body): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(unpacked(body)))
}
