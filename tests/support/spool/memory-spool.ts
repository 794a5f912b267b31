/** Spool in memory with an injected clock, for tests of code that uses spools. */

import { randomBytes } from 'node:crypto'
import type {
  Ending,
  EntryFilter,
  Lease,
  Spool,
  SpoolEntry,
  StoredBody,
} from '../../../tunnel/src/pipeline/spool.ts'
import { inOne, spoolEntryOf } from './entries.ts'

type Row = { entry: SpoolEntry; id: number; body: StoredBody; attempts: number; due: number }

export type MemorySpool = Spool & {
  /** Puts an entry that is received now, and returns it. */
  add(body?: Buffer, parts?: Partial<SpoolEntry>): Promise<SpoolEntry>
  entry(): SpoolEntry[]
  /** Bodies that cannot be read. */
  unreadable: Set<string>
  /** Endings by key. */
  endings: Map<string, Ending>
  /** Number of calls of `take`. */
  takes: number
}

export function createMemorySpool(now: () => number): MemorySpool {
  const rows = new Map<number, Row>()
  let ids = 0
  const leaseOf = ({ entry, id, attempts, due }: Row): Lease => ({ ...entry, id, attempts, until: due })
  const select = ({ entry: ref, projects, category }: EntryFilter): Row[] =>
    [...rows.values()].filter(
      ({ entry, id }) =>
        (!ref || (ref.id === id && ref.key === entry.key)) &&
        (projects?.includes(entry.project) ?? true) &&
        (category ?? entry.category) === entry.category,
    )
  const spool: MemorySpool = {
    id: 'in memory',
    describe: async () => ({ maxBytes: Number.MAX_SAFE_INTEGER, durability: 'unproven: in memory' }),
    unreadable: new Set(),
    endings: new Map(),
    takes: 0,
    entry: () => [...rows.values()].map(({ entry }) => entry),
    async add(body = randomBytes(20), parts = {}) {
      const entry = await spoolEntryOf(body, { received: now(), ...parts })
      await spool.put(entry, inOne(body), 0)
      return entry
    },
    async put(entry, { chunks }, leaseMs) {
      const body = Buffer.concat(await Array.fromAsync(chunks()))
      const row = { entry, id: ++ids, body, attempts: 0, due: now() + leaseMs }
      rows.set(row.id, row)
      return { kind: 'stored', lease: leaseOf(row), evicted: [] }
    },
    async probe() {},
    async take(limit, leaseMs, wanted) {
      spool.takes++
      const time = now()
      const isWanted = ({ entry: { project, category }, due }: Row) =>
        due <= time &&
        wanted.some((each) => each.project === project && !each.rateLimitedCategories.includes(category))
      const taken = [...rows.values()].filter(isWanted).slice(0, limit)
      for (const row of taken) Object.assign(row, { due: time + leaseMs, attempts: row.attempts + 1 })
      return taken.map(leaseOf)
    },
    async read({ id, key }) {
      const row = rows.get(id)
      if (!row || spool.unreadable.has(key)) throw new Error('it cannot be read')
      return row.body
    },
    async extend(lease, leaseMs) {
      const until = now() + leaseMs
      await spool.postpone(lease, until)
      return { ...lease, until }
    },
    async finish({ id, key }, ending) {
      if (ending) spool.endings.set(key, ending)
      return rows.delete(id)
    },
    async postpone({ id, until }, at) {
      const row = rows.get(id)
      if (row?.due === until) row.due = at
    },
    async expire(before) {
      const old = [...rows.values()].filter(({ entry }) => entry.received < before)
      for (const { id } of old) rows.delete(id)
      return old.map(({ entry }) => entry)
    },
    async totals() {
      const byPartition = Map.groupBy(rows.values(), ({ entry }) => `${entry.project}\n${entry.category}`)
      const partitions = Array.from(byPartition, ([name, all]) => {
        const [project = '', category = ''] = name.split('\n')
        return { project, category, envelopes: all.length, bytes: 0 }
      })
      return { envelopes: rows.size, bytes: 0, partitions, paused: [] }
    },
    async list(query) {
      const found = 'entry' in query ? select(query) : select(query).slice(0, query.limit)
      return found.map(({ entry, id, attempts, due }) => ({
        ...entry,
        id,
        place: id,
        attempts,
        leased: due > now(),
      }))
    },
    async retry({ projects }) {
      const found = select({ ...(projects && { projects }) })
      for (const row of found) row.due = Math.min(row.due, now())
      return found.length
    },
    async purge(which) {
      const found = select(which)
      for (const { id } of found) rows.delete(id)
      return found.map(({ entry }) => entry)
    },
    pause: notHere,
    resume: notHere,
    entries: {
      keep: notHere,
      list: notHere,
      count: notHere,
      read: notHere,
      resend: notHere,
      purge: notHere,
    },
    state: {
      ...{ get: notHere, put: notHere, clockOffsetMs: () => 0 },
      ...{ snapshots: { add: notHere, read: notHere }, bundles: { read: notHere, write: notHere } },
    },
    async close() {},
  }
  return spool
}

async function notHere(): Promise<never> {
  throw new Error('this spool has no operator')
}
