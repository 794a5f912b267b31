/** Reads and purges entries of the store, for the routes of inbox, spool, store and erasure. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Envelope, EnvelopeReader, type ReaderLimits } from '../envelope/reader.ts'
import type { EndedEntry, EntryFilter, OnFinalOutcome, Spool, StoredBody } from '../pipeline/spool.ts'

/** Parses an envelope of the store. */
export async function readStored(stored: StoredBody, limits: ReaderLimits): Promise<Envelope> {
  const reader = new EnvelopeReader(limits)
  if (Buffer.isBuffer(stored)) reader.push(stored)
  else for await (const chunk of stored.open()) reader.push(chunk)
  return reader.end()
}

/** Returns a kept envelope, or its `first` bytes. Rejects when it is gone. */
export async function readKept(
  { entries }: Spool,
  entry: EndedEntry,
  first = entry.bytes,
): Promise<Buffer<ArrayBuffer>> {
  const stored = await entries.read(entry)
  const envelope = Buffer.alloc(Math.min(first, entry.bytes))
  if (Buffer.isBuffer(stored)) stored.copy(envelope)
  else {
    let at = 0
    for await (const chunk of stored.open()) {
      at += chunk.copy(envelope, at)
      if (at === envelope.length) break
    }
  }
  return envelope
}

/** Deletes the envelopes that are kept now. Returns their number. */
export async function purgeKept({ entries }: Spool): Promise<number> {
  const filter = { states: ['kept'], to: Date.now() } as const
  let purged = 0
  for (let batch = 1; batch > 0; purged += batch) batch = await entries.purge(filter)
  return purged
}

const PURGE_BATCH = 100 // final outcomes in one turn of the event loop, which live traffic shares

/** Purges pending entries. Returns their number. */
export async function purgePending(
  { spool, onFinalOutcome }: { spool: Spool; onFinalOutcome: OnFinalOutcome },
  filter: EntryFilter,
): Promise<number> {
  const purged = await spool.purge(filter)
  for (const [i, entry] of purged.entries()) {
    if (i % PURGE_BATCH === 0) await nextTurn()
    onFinalOutcome(entry, 'purged', undefined)
  }
  return purged.length
}
