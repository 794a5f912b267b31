/** What an operator asks of the stream. */

import type { EntryFilter, EntryRef, ListedEntry, PageQuery, Spool, SpoolEntry } from '../spool.ts'
import { entryOf, subjectsOf, subjectsWithin } from './codec.ts'
import type { Progress } from './lease-status.ts'
import type { Messages, Stored } from './messages.ts'
import type { Pauses } from './pauses.ts'
import { HELD_MS, type PutAgain } from './reschedule.ts'

export type EntryAdmin = Pick<Spool, 'list' | 'find' | 'retry' | 'purge' | 'pause' | 'resume'> & {
  /** Where one is now. */
  storedAt(ref: EntryRef): Promise<Stored | undefined>
}

export type EntryAdminDeps = {
  pauses: Pauses
  messages: Messages
  putAgain: PutAgain
  /** Of all replicas, by message. */
  progress: () => Promise<Map<number, Progress>>
  /** Removes messages with their parts, and gives those that nobody had removed before. */
  removeAll: (all: readonly Stored[]) => Promise<SpoolEntry[]>
  now: () => number
}

const ACT_AT_MOST = 5_000 // purged, or hastened, in one call
const AT_A_TIME = 500
const LOOKED_THROUGH = 10_000 // of those put again, for one that is there no more

export function openEntryAdmin({
  pauses,
  messages,
  putAgain,
  progress,
  removeAll,
  now,
}: EntryAdminDeps): EntryAdmin {
  return {
    list,
    find,
    retry,
    purge,
    storedAt,
    pause: (project) => pauses.begin(project, now()),
    resume: (project) => pauses.end(project),
  }

  async function list({ order, limit, after, ...which }: PageQuery): Promise<ListedEntry[]> {
    const parts = await Promise.all(
      subjectsWithin(which).map((subject) =>
        order === 'newest'
          ? messages.lastOf(subject, after?.place ?? Infinity, limit)
          : firstOf(subject, after?.place ?? 0, limit),
      ),
    )
    const sign = order === 'newest' ? -1 : 1
    const page = parts
      .flat()
      .sort((a, b) => sign * (a.seq - b.seq))
      .slice(0, limit)
    const known = await progress()
    return page.map((stored) => foundOf(stored, known.get(stored.seq)))
  }

  async function firstOf(subject: string, after: number, many: number): Promise<Stored[]> {
    const first: Stored[] = []
    for await (const stored of messages.walk(subject, after + 1)) {
      first.push(stored)
      if (first.length === many) break
    }
    return first
  }

  async function find(ref: EntryRef): Promise<ListedEntry | undefined> {
    const stored = await storedAt(ref)
    return stored && foundOf(stored, (await progress()).get(stored.seq))
  }

  /** One that was put again since it was found is looked for among those that were: they are few, as a rule. */
  async function storedAt({ id, key, place = id }: EntryRef): Promise<Stored | undefined> {
    const stored = await messages.find(place)
    if (stored?.entry.key === key) return stored
    let seen = 0
    for await (const again of messages.walk(subjectsOf('again'))) {
      if (again.entry.first === id && again.entry.key === key) return again
      if (++seen === LOOKED_THROUGH) break
    }
    return undefined
  }

  /** One that came with a lease is its putter's until that ends; one that was put again with a time was put off. */
  function foundOf({ entry, seq, turn }: Stored, its: Progress | undefined): ListedEntry {
    const due = Math.max(entry.due ?? 0, its?.due ?? 0)
    const later = due > now()
    return {
      ...entryOf(entry),
      id: entry.first ?? seq,
      place: seq,
      attempts: its?.attempts ?? entry.attempts ?? 0,
      leased: later && (its?.leased ?? turn === 'first'),
      ...(later && { due }),
    }
  }

  async function retry(which: EntryFilter): Promise<number> {
    const known = await progress()
    let retried = 0
    for await (const stored of putOff(which, known)) {
      const found = foundOf(stored, known.get(stored.seq))
      if (found.leased || found.due === undefined || found.due <= now() + HELD_MS) continue // a copy, too
      if ((await putAgain(stored.seq, now() + HELD_MS, found.attempts)) !== undefined) retried++
      if (retried === ACT_AT_MOST) break
    }
    return retried
  }

  /** Those that may have been put off: the server holds them back, or they were put again. */
  async function* putOff(which: EntryFilter, known: Map<number, Progress>): AsyncGenerator<Stored> {
    if (which.entry) {
      const stored = await storedAt(which.entry)
      if (stored) yield stored
      return
    }
    for (const { seq, leased } of known.values()) {
      const stored = leased ? undefined : await messages.find(seq)
      if (stored?.turn === 'first' && matches(stored, which)) yield stored
    }
    for (const subject of subjectsWithin(which, 'again')) yield* messages.walk(subject)
  }

  function matches({ entry }: Stored, { projects, category }: EntryFilter): boolean {
    return (
      (projects?.includes(entry.project) ?? true) && (category === undefined || category === entry.category)
    )
  }

  async function purge(which: EntryFilter): Promise<SpoolEntry[]> {
    if (which.entry) {
      const stored = await storedAt(which.entry)
      return stored ? removeAll([stored]) : []
    }
    const gone: SpoolEntry[] = []
    try {
      for (const subject of subjectsWithin(which))
        while (gone.length < ACT_AT_MOST) {
          const some = await firstOf(subject, 0, AT_A_TIME)
          gone.push(...(await removeAll(some)))
          if (some.length < AT_A_TIME) break
        }
    } catch (error) {
      if (gone.length === 0) throw error // nobody could tell of those that are gone later
    }
    return gone
  }
}
