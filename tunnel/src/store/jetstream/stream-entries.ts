/** Entries that are not pending, in streams of NATS JetStream: dead letters, and kept entries. */

import type {
  EndedCount,
  EndedEntry,
  EndedFilter,
  EndedPage,
  EndedPlace,
  EndedState,
  Ending,
  Entries,
  PutResult,
  Resent,
  SpoolBody,
  SpoolBounds,
  SpoolEntry,
  StoredBody,
} from '../../pipeline/spool.ts'
import { BodyGone, UnreadableBody, WrongSize } from '../body-errors.ts'
import { DEAD_LETTER_MS, DEAD_LETTER_SHARE } from '../bounds.ts'
import { Summariser } from '../entry-summary.ts'
import { DEAD, EndedStream, type Found, KEPT, kindOf } from './ended-stream.ts'
import type { Server } from './nats-server.ts'
import type { Limits } from './network-usage.ts'
import type { ServerClock } from './server-clock.ts'
import { openBody } from './stream-reader.ts'

type Deps = Pick<SpoolBounds, 'addressShare' | 'kept'> & {
  server: Server
  clock: ServerClock
  /** Copies of each stream. */
  replicas: number
  /** Bound of the bytes of pending entries. */
  maxBytes: () => number
  /** Stores a pending entry. */
  put: (entry: SpoolEntry, body: SpoolBody) => Promise<PutResult>
  /** Receives messages for the operator. */
  onNotice: (notice: string) => void
}

/** End of a delivery, with the state of its entry. */
export type End = Omit<Ending, 'state'> & { state: EndedState }

/** Subject of the numbers of kept entries that are removed. */
export const REMOVED = 'culvert.removed-kept'
const MAX_RESENT = 100 // in one call
const DEAD_LETTER_LINES = 10_000 // most of them perhaps without a body
const BYTES_OF_LINE = 4 * 1024 // of the bound of bytes, for each line
const MAX_KEPT = 100_000 // half as many more without notes; each replica has their keys and networks in memory
const LEAST_BYTES_OF_KEPT = 2 * 1024 // of the bound of bytes, for each kept entry
const MAX_PURGED = 5_000
const PURGED_AT_A_TIME = 50

export class StreamEntries implements Entries {
  /** Receives the number of each kept entry that this replica removes. Others receive it from the server. */
  onRemoved: (id: number) => void = () => {}
  readonly kept: EndedStream
  readonly #deps: Deps
  readonly #dead: EndedStream
  readonly #streams: readonly EndedStream[]

  constructor(deps: Deps) {
    this.#deps = deps
    const { server, clock, replicas, addressShare, kept, maxBytes } = deps
    const shared = { server, clock, replicas, addressShare }
    this.#dead = new EndedStream({
      ...{ ...shared, kind: DEAD, ageMs: DEAD_LETTER_MS, limits: () => deadLetterLimits(maxBytes()) },
    })
    this.kept = new EndedStream({
      ...{ ...shared, kind: KEPT, ageMs: kept?.ageMs },
      limits: () => keptLimits(kept?.bytes ?? 0),
    })
    this.kept.onRemoved = (id) => {
      this.onRemoved(id)
      server.nc.publish(REMOVED, String(id))
    }
    this.#streams = [this.#dead, this.kept]
  }

  async keep(entry: SpoolEntry, body: SpoolBody, ending: Ending): Promise<'stored' | 'known' | 'too-large'> {
    if (await this.kept.find(entry)) return 'known'
    return this.#add(entry, body, ending)
  }

  /** Copies a pending entry. Notes the end of a copy at the kept entry. */
  async end(entry: SpoolEntry, body: SpoolBody | undefined, ending: End): Promise<void> {
    const kept = await this.kept.find(entry)
    if (kept) await this.kept.note(kept, { status: ending.status, answer: ending.answer })
    else await this.#add(entry, body, ending)
  }

  async list(filter: EndedFilter, { limit, after }: EndedPage): Promise<EndedEntry[]> {
    const to = Math.min(filter.to ?? Infinity, after?.ended ?? Infinity)
    const pages = this.#streams.map(async (stream) => {
      const page: EndedEntry[] = []
      for await (const found of stream.newest({ ...filter, to })) {
        if (page.length === limit) break
        if (!after || found.ended < after.ended || found.id < after.id) page.push(found)
      }
      return page
    })
    const found = (await Promise.all(pages)).flat()
    return found.sort((a, b) => b.ended - a.ended || b.id - a.id).slice(0, limit)
  }

  async count(filter: EndedFilter, limit = Infinity): Promise<EndedCount> {
    const total = { entries: 0, bytes: 0 }
    const projects = new Set<string>()
    for await (const { found } of this.#withBodies(filter)) {
      if (total.entries === limit) break
      projects.add(found.project)
      total.entries++
      total.bytes += found.bytes
    }
    return { ...total, projects: [...projects] }
  }

  async read(entry: EndedEntry): Promise<StoredBody> {
    const stream = kindOf(entry) === DEAD ? this.#dead : this.kept
    const found = await stream.get(entry)
    if (!found?.isStored) throw new BodyGone()
    return openBody(found.chunks === 1, () => stream.body(found))
  }

  /** After a failure it returns what is pending by then, since each has its final outcome only now. */
  async resend(filter: EndedFilter, limit: number, after?: EndedPlace): Promise<Resent> {
    const resent: Resent = { entries: [], isOver: true }
    try {
      for await (const { stream, found } of this.#withBodies(filter, after)) {
        resent.isOver = false
        if (resent.entries.length >= Math.min(limit, MAX_RESENT)) break
        await this.#resendOne(stream, found, resent)
        resent.after = { ended: found.ended, id: found.id }
      }
    } catch (error) {
      if (resent.entries.length === 0) throw error
    }
    return resent
  }

  async purge(filter: EndedFilter): Promise<number> {
    const removals: (() => Promise<void>)[] = []
    for (const stream of this.#streams)
      for await (const found of stream.oldest(filter)) {
        if (removals.length === MAX_PURGED) break
        removals.push(() => stream.remove(found))
      }
    for (let at = 0; at < removals.length; at += PURGED_AT_A_TIME)
      await Promise.all(removals.slice(at, at + PURGED_AT_A_TIME).map((remove) => remove()))
    return removals.length
  }

  async #add(
    entry: SpoolEntry,
    body: SpoolBody | undefined,
    end: End,
  ): Promise<'stored' | 'known' | 'too-large'> {
    const line = { ...spoolEntryOf(entry), ...end }
    if (DEAD.states.includes(end.state)) return this.#dead.add(line, body)
    delete line.resent // the server has accepted it once: it counts as resent once that is done to the kept entry
    if (!body) return this.kept.add(line, body)
    const summariser = new Summariser()
    for await (const chunk of body.chunks()) summariser.push(chunk)
    return this.kept.add({ ...line, summary: summariser.end(entry) }, body)
  }

  /** Yields the entries with a body behind a place, stream by stream. */
  async *#withBodies(
    filter: EndedFilter,
    after?: EndedPlace,
  ): AsyncGenerator<{ stream: EndedStream; found: Found }> {
    const first = after ? kindOf(after).index : 0
    for (const stream of this.#streams.slice(first))
      for await (const found of stream.oldest(filter, stream.kind.index === first ? after?.id : undefined))
        if (found.isStored) yield { stream, found }
  }

  /**
   * Makes an entry pending before it is removed here, or noted. Adds it to `resent` in between, since it is delivered also if that fails.
   * Leaves out one that is pending already, or whose body was cut.
   */
  async #resendOne(stream: EndedStream, found: Found, resent: Resent): Promise<void> {
    const now = this.#deps.clock.now()
    const entry = { ...spoolEntryOf(found), resent: now }
    try {
      const { kind } = await this.#deps.put(entry, { chunks: () => stream.body(found) })
      if (kind === 'full') return
      if (kind === 'stored') resent.entries.push(entry)
      await (stream === this.kept ? stream.note(found, { resent: now }) : stream.remove(found))
    } catch (error) {
      if (!(error instanceof UnreadableBody)) throw error
      if (error instanceof WrongSize) this.#deps.onNotice(error.message) // else another replica has resent it
    }
  }
}

/** Returns the fields of a pending entry. */
function spoolEntryOf(entry: SpoolEntry): SpoolEntry {
  const { key, project, category, priority, network, received, resent, bytes, receipt, eventId, headers } =
    entry
  return { key, project, category, priority, network, received, resent, bytes, receipt, eventId, headers }
}

function keptLimits(bytes: number): Limits {
  return { bytes, lines: Math.min(MAX_KEPT, Math.ceil(bytes / LEAST_BYTES_OF_KEPT)) }
}

/** Returns the bytes and lines that dead letters may take beside so many bytes of pending entries. */
function deadLetterLimits(pendingBytes: number): Limits {
  const bytes = pendingBytes * DEAD_LETTER_SHARE
  return { bytes, lines: Math.min(DEAD_LETTER_LINES, Math.ceil(bytes / BYTES_OF_LINE)) }
}
