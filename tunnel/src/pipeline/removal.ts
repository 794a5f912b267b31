/** Removes pending entries from a spool: those that an operator purges, and those that expire. */

import { type Entries, type EntryFilter, pendingSince, type Spool, type SpoolEntry } from './spool.ts'

type Store = Pick<Spool, 'totals' | 'list' | 'end'>

const BATCH = 500
const MAX_REMOVED = 10_000 // by one call
const MAX_MS = 30_000 // an operator waits for a purge

/** Removes entries, leased ones too, and returns them, at most some thousands. */
export async function purge(spool: Store, which: EntryFilter): Promise<SpoolEntry[]> {
  if (which.entry) return spool.end(await spool.list({ entry: which.entry }))
  return endAll(spool, which, Infinity)
}

/** Ends the delivery of the entries that became pending before `before`, and returns them, at most some thousands. Also removes ended ones that are too old. */
export async function expire(
  spool: Store & { entries: Pick<Entries, 'prune'> },
  before: number,
): Promise<SpoolEntry[]> {
  await spool.entries.prune().catch(() => undefined) // the next call tries again
  return endAll(spool, {}, before, 'expired')
}

/**
 * Ends entries in batches, so that other calls get their turn, and partition by partition, so that a damaged one holds up no other one.
 * Returns those that it has ended also when a later call fails: only the caller can report their final outcome.
 */
async function endAll(
  spool: Store,
  { projects, category }: EntryFilter,
  before: number,
  state?: 'expired',
): Promise<SpoolEntry[]> {
  const deadline = performance.now() + MAX_MS
  const ended: SpoolEntry[] = []
  let failure: { error: unknown } | undefined
  for (const { oldest = 0, ...partition } of (await spool.totals()).partitions) {
    if (oldest >= before || projects?.includes(partition.project) === false) continue
    if (category !== undefined && partition.category !== category) continue
    const query = { projects: [partition.project], category: partition.category } as const
    try {
      for (let some: SpoolEntry[] | undefined; some?.length !== 0; ended.push(...some)) {
        if (ended.length >= MAX_REMOVED || performance.now() > deadline) break
        const found = await spool.list({ ...query, order: 'oldest', limit: BATCH })
        some = await spool.end(
          found.filter((entry) => pendingSince(entry) < before),
          state,
        )
      }
    } catch (error) {
      failure ??= { error }
    }
  }
  if (failure && ended.length === 0) throw failure.error
  return ended
}
