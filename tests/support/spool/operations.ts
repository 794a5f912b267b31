/** Puts entries into a spool and leases them. Fails the test when a call does not succeed. */

import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import type {
  Lease,
  ProjectDemand,
  PutResult,
  Spool,
  SpoolBody,
  SpoolEntry,
  StoredBody,
} from '../../../tunnel/src/pipeline/spool.ts'
import { ALL, inOne, LONG_MS, spoolEntryOf } from './entries.ts'

/** Puts an entry of `bytes` random bytes, and returns it with the result. */
export async function putOne(
  spool: Spool,
  { bytes = 100, ...parts }: Partial<SpoolEntry> = {},
  leaseMs = 0,
): Promise<{ entry: SpoolEntry; body: Buffer; result: PutResult }> {
  const body = randomBytes(bytes)
  const entry = await spoolEntryOf(body, parts)
  return { entry, body, result: await spool.put(entry, inOne(body), leaseMs) }
}

/** Puts an entry that must be stored. */
export async function store(spool: Spool, parts: Partial<SpoolEntry> = {}, leaseMs = 0): Promise<SpoolEntry> {
  const { entry, result } = await putOne(spool, parts, leaseMs)
  expect(result.kind).toBe('stored')
  return entry
}

/** Returns the body in chunks, repeatedly, as from a file. */
export function inPieces(body: Buffer, pieceBytes = 64 * 1024): SpoolBody {
  function* chunks() {
    for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes)
  }
  return { chunks }
}

/** Leases `count` entries in as many calls as needed; fails when they are not due within 30 s. */
export async function takeAll(
  spool: Spool,
  many: number,
  leaseMs = LONG_MS,
  wanted: readonly ProjectDemand[] = ALL,
): Promise<Lease[]> {
  const taken: Lease[] = []
  await expect
    .poll(
      async () => {
        taken.push(...(await spool.take(many - taken.length, leaseMs, wanted)))
        return taken.length
      },
      { interval: 20 },
    )
    .toBe(many)
  return taken
}

/** Expects that no entry is due. */
export async function expectNothing(spool: Spool, wanted: readonly ProjectDemand[] = ALL): Promise<void> {
  expect(await spool.take(100, LONG_MS, wanted)).toEqual([])
}

export function bytesOf(kept: StoredBody): Promise<Buffer> | Buffer {
  return Buffer.isBuffer(kept) ? kept : buffer(kept.open())
}

export function keysOf(envelopes: readonly SpoolEntry[]): string[] {
  return envelopes.map(({ key }) => key)
}

/** Returns the pending entries as they were put, without the fields of a lease. */
export function plain({
  key,
  project,
  category,
  priority,
  network,
  received,
  bytes,
  receipt,
  headers,
}: SpoolEntry): SpoolEntry {
  return { key, project, category, priority, network, received, bytes, receipt, headers }
}
