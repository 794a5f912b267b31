/** Reads and purges entries of the store, for the routes of spool, store and erasure. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Envelope, EnvelopeReader, type ReaderLimits } from '../envelope/reader.ts'
import type { EntryFilter, OnFinalOutcome, Spool, StoredBody } from '../pipeline/spool.ts'

/** Parses an envelope of the store. */
export async function readStored(stored: StoredBody, limits: ReaderLimits): Promise<Envelope> {
  const reader = new EnvelopeReader(limits)
  if (Buffer.isBuffer(stored)) reader.push(stored)
  else for await (const chunk of stored.open()) reader.push(chunk)
  return reader.end()
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
