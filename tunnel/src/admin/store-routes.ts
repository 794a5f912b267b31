/** Routes of the store. `/store` lists, finds and resends entries in every state; `/spool` is the view of pending ones, with retry, pause and purge. */

import { Readable } from 'node:stream'
import { isObject } from 'contract/json'
import type { SpoolPaused, SpoolPurged, SpoolRetried } from 'contract/spool'
import {
  ENTRY_STATES,
  type EntryState,
  RESENDABLE_STATES,
  type ResendJob,
  type ResendStarted,
  type ResendStatus,
  type SpoolEntryDetails,
  type StoreEntry,
  type StoreErased,
  type StoreEvent,
  type StorePage,
  type StorePurged,
} from 'contract/store'
import { type Context, Hono } from 'hono'
import type { ResendJobs, ResendOrder } from '../forward/delivery/resend-job.ts'
import { showCategory, showPauses } from '../forward/spool-status.ts'
import type { Receipts } from '../observe/receipts.ts'
import { isMirrorKey, type Projects } from '../pipeline/projects.ts'
import {
  ENDED_STATES,
  type EndedEntry,
  type EndedFilter,
  type EntryFilter,
  type ListedEntry,
  pendingSince,
} from '../pipeline/spool.ts'
import type { AuditLog } from './audit-log.ts'
import { type ErasureDeps, type ErasurePlace, eraseStep } from './erasure.ts'
import { addRoute, download, type Given, RequestError, readNumber, readWhole } from './responses.ts'
import { readCursor, readRef, SELECTION, SpoolQueries } from './spool-query.ts'
import { purgePending, readStored } from './stored-entries.ts'

export type StoreAdminDeps = ErasureDeps & {
  jobs: ResendJobs
  projects: Projects
  receipts: Receipts
  auditLog: AuditLog
}

const ENDED = ['state', 'project', 'event_id', 'from', 'to']
const LISTED = [...ENDED, 'category', 'order']
const RESENT = ['id', 'state', 'project', 'event_id', 'from', 'to', 'limit', 'dry_run']
const ERASED = ['user', 'dry_run', 'after']
const MAX_USER_LENGTH = 200 // characters
const MAX_BODY_BYTES = 64 * 1024
const EVENT_ID = /^[0-9a-f]{32}$/
const MAX_ENTRIES = 100 // of one event
const MAX_ITEMS_SHOWN = 200
const DEFAULT_LIMIT = 50
const MAX_LIMIT = 200

export function createStoreAdmin(deps: StoreAdminDeps): Hono {
  const admin = new StoreAdmin(deps)
  const app = new Hono()
  addRoute(app, '/spool', {
    GET: { run: async (c) => withFormerName(await admin.list(c, 'pending')) },
    DELETE: { query: [...SELECTION, 'all'], run: (c) => admin.purgeSelection(c) },
  })
  addRoute(app, '/spool/retry', {
    POST: { query: [...SELECTION, 'all'], run: (c) => admin.retrySelection(c) },
  })
  addRoute(app, '/spool/pause', { POST: { query: SELECTION, run: (c) => admin.setPaused(c, 'pause') } })
  addRoute(app, '/spool/resume', { POST: { query: SELECTION, run: (c) => admin.setPaused(c, 'resume') } })
  addRoute(app, '/spool/:id', {
    GET: { run: (c) => admin.inspect(c) },
    DELETE: { run: (c) => admin.purgeOne(c) },
  })
  addRoute(app, '/spool/:id/envelope', { GET: { run: (c) => admin.download(c) } })
  addRoute(app, '/spool/:id/retry', { POST: { run: (c) => admin.retry(c) } })
  addRoute(app, '/store/entries', {
    GET: { run: (c) => admin.list(c, readState(c.req.query())) },
    DELETE: { query: [...ENDED, 'id', 'all'], run: (c) => admin.purgeEnded(c) },
  })
  addRoute(app, '/store/events/:event_id', { GET: { run: (c) => admin.findEvent(c) } })
  addRoute(app, '/store/erase', { POST: { run: (c) => admin.erase(c) } })
  addRoute(app, '/store/resend', {
    POST: { run: (c) => admin.resend(c) },
    GET: { run: () => admin.status() },
    DELETE: { run: (c) => admin.stop(c) },
  })
  app.onError((error, c) =>
    c.json({ detail: `The store does not answer: ${error.message}. /status says more.` }, 503),
  )
  return app
}

class StoreAdmin {
  readonly #deps: StoreAdminDeps
  readonly #queries: SpoolQueries

  constructor(deps: StoreAdminDeps) {
    this.#deps = deps
    this.#queries = new SpoolQueries(deps.spool, deps.projects)
  }

  /** Lists entries: pending ones in the order in which they became pending, others in the one in which they ended. */
  async list(c: Context, state: EntryState | undefined): Promise<StorePage> {
    const { spool, auditLog } = this.#deps
    const given: Given = { ...c.req.query(), state }
    const { category, order = 'newest', after: cursor } = c.req.query()
    if (order !== 'newest' && order !== 'oldest')
      throw new RequestError(400, 'order is "newest" or "oldest".')
    if (state !== 'pending' && (category ?? given.order) !== undefined)
      throw new RequestError(400, 'category and order are for pending entries: add state=pending.')
    const filter = await this.#readFilter(given)
    const limit = readNumber(given, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT
    const after = readCursor(cursor)
    const found =
      state === 'pending'
        ? await spool.list({
            ...{ ...filter, order, limit, ...(after && { after }) },
            ...(category !== undefined && { category: await this.#queries.categoryOf(category) }),
          })
        : await spool.entries.list(filter, {
            limit,
            ...(after && { after: { ended: after.received, id: after.place } }),
          })
    auditLog.recordRead(c, 'store-list', {
      ...{ ...namedOf(given), ...this.#projectOf(given), envelopes: found.length },
    })
    const last = found.length === limit ? found.at(-1) : undefined
    const entries = found.map((entry) => this.#describe(entry))
    return { spool: spool.id, entries, ...(last && { next: cursorOf(last) }) }
  }

  async inspect(c: Context): Promise<SpoolEntryDetails> {
    const found = await this.#findPending(c)
    this.#deps.auditLog.recordRead(c, 'spool-inspect', this.#subjectOf(found))
    try {
      const stored = await this.#deps.spool.read(found)
      const { header, items } = await readStored(stored, { ...this.#deps.limits, keep: () => false })
      const shown = items
        .slice(0, MAX_ITEMS_SHOWN)
        .map(({ type, header, bytes }) => ({ header: { type, ...header }, bytes }))
      const entry = { spool: this.#deps.spool.id, ...this.#describe(found) }
      return { ...entry, header, items: shown, item_count: items.length }
    } catch (error) {
      if ((await this.#deps.spool.list({ entry: found })).length > 0) throw error
      throw notPending()
    }
  }

  async download(c: Context): Promise<Response> {
    const found = await this.#findPending(c)
    const stored = await this.#deps.spool.read(found)
    this.#deps.auditLog.record(c, 'spool-read', this.#subjectOf(found))
    return download(
      c,
      Buffer.isBuffer(stored) ? new Uint8Array(stored) : (Readable.toWeb(stored.open()) as ReadableStream),
    )
  }

  async retry(c: Context): Promise<SpoolRetried> {
    const found = await this.#findPending(c)
    if (found.leased) throw new RequestError(409, 'A replica is delivering it at the moment.')
    const retried = (await this.#deps.spool.retry({ entry: found })) || Number(found.due === undefined) // another replica may know when it is due
    if (retried === 0)
      throw new RequestError(409, 'A replica has just taken it, or the spool is too full to move it.')
    this.#deps.auditLog.recordChange(c, 'spool-retry', { ...this.#subjectOf(found), envelopes: retried })
    return { retried }
  }

  async retrySelection(c: Context): Promise<SpoolRetried> {
    const { filter, named } = await this.#queries.readSelectionForChange(c)
    const retried = await this.#deps.spool.retry(filter)
    this.#deps.auditLog.recordChange(c, 'spool-retry', { ...named, envelopes: retried })
    return { retried }
  }

  async purgeOne(c: Context): Promise<SpoolPurged> {
    const found = await this.#findPending(c)
    const purged = await purgePending(this.#deps, { entry: found })
    if (purged === 0) throw notPending()
    this.#deps.auditLog.recordChange(c, 'spool-purge', { ...this.#subjectOf(found), envelopes: purged })
    return { purged, left: 0 }
  }

  async purgeSelection(c: Context): Promise<SpoolPurged> {
    const { filter, named } = await this.#queries.readSelectionForChange(c)
    const purged = await purgePending(this.#deps, filter)
    this.#deps.auditLog.recordChange(c, 'spool-purge', { ...named, envelopes: purged })
    return { purged, left: await this.#countPending(filter) }
  }

  async setPaused(c: Context, action: 'pause' | 'resume'): Promise<SpoolPaused> {
    if (c.req.query('category') !== undefined)
      throw new RequestError(400, 'A project can be paused, or everything; a category cannot.')
    const { filter, named } = await this.#queries.readSelection(c)
    for (const key of filter.projects ?? [undefined]) await this.#deps.spool[action](key)
    this.#deps.auditLog.recordChange(c, `spool-${action}`, named)
    const { paused } = await this.#deps.spool.totals()
    return { paused: showPauses(paused, this.#deps.projects) }
  }

  /** Removes entries that are not pending. A selection of everything has to be named explicitly. */
  async purgeEnded(c: Context): Promise<StorePurged> {
    const { spool, auditLog } = this.#deps
    const { all, ...given } = c.req.query()
    if (given.state === 'pending')
      throw new RequestError(400, 'DELETE /spool purges pending envelopes, which get a final outcome.')
    if (given.id !== undefined) rejectOthers(given, ['id'])
    const filter = given.id === undefined ? await this.#readFilter(given) : { entry: readRef(given.id) }
    if ((all === undefined) === (Object.keys(given).length === 0))
      throw new RequestError(
        400,
        'Select entries with id, state, project, event_id, from or to, or everything with ?all.',
      )
    const purged = await spool.entries.purge(filter)
    const { id } = given
    auditLog.recordChange(c, 'store-purge', {
      ...(id !== undefined && { id }),
      ...{ ...this.#projectOf(given), envelopes: purged },
    })
    return { purged }
  }

  /** Searches a step of the store for the envelopes of one user, and removes them. The audit log does not get the value. */
  async erase(c: Context): Promise<StoreErased> {
    const {
      user,
      dry_run: isDry,
      after,
    } = await readBody(c, ERASED, '{"user":"jane@shop.example","dry_run":true}')
    if (typeof user !== 'string' || user.trim() === '' || user.length > MAX_USER_LENGTH)
      throw new RequestError(400, `user is a text of up to ${MAX_USER_LENGTH} characters.`)
    const place = after === undefined ? undefined : readPlace(after)
    const { nextPlace, ...counts } = await eraseStep(this.#deps, user, { isDry: isDry === true, place })
    const { auditLog } = this.#deps
    if (counts.erased > 0) auditLog.recordChange(c, 'store-erase', { envelopes: counts.erased })
    else
      auditLog.record(c, 'store-erase', {
        dry_run: isDry === true,
        searched: counts.searched,
        matched: counts.matched,
      })
    return { ...counts, ...(nextPlace && { next: showPlace(nextPlace) }) }
  }

  /** Returns all that this replica and the store know of an event. */
  async findEvent(c: Context): Promise<StoreEvent> {
    const { spool, receipts, auditLog } = this.#deps
    const eventId = readEventId(c.req.param('event_id') ?? '')
    const [pending, ended, { receipts: found, finalOutcomes, since }] = await Promise.all([
      spool.list({ eventId, order: 'newest', limit: MAX_ENTRIES }),
      spool.entries.list({ eventId }, { limit: MAX_ENTRIES }),
      receipts.ofEvent(eventId),
    ])
    auditLog.recordRead(c, 'store-event', { event_id: eventId })
    const entries = [...pending, ...ended].map((entry) => this.#describe(entry))
    return {
      ...{ event_id: eventId, receipts: found, final_outcomes: finalOutcomes, entries },
      receipts_since: since,
    }
  }

  async resend(c: Context): Promise<ResendStarted> {
    const given = await readBody(c, RESENT, '{"state":"declined"}')
    if (given.id !== undefined) return this.#resendOne(c, given)
    const { jobs, auditLog } = this.#deps
    const order = await jobs.withoutUndeliverable(await this.#readOrder(given))
    const matching = await jobs.count(order)
    if (given.dry_run === true || matching.entries + matching.undeliverable === 0) return matching
    this.#checkDeliverable(order)
    if (matching.entries === 0) return matching
    if (!(await jobs.begin(order, matching)))
      throw new RequestError(409, 'Entries are being sent again already. DELETE /store/resend stops that.')
    auditLog.recordChange(c, 'store-resend', { ...this.#projectOf(given), envelopes: matching.entries })
    return matching
  }

  async status(): Promise<ResendStatus> {
    const job = await this.#deps.jobs.status()
    return job ? { job } : {}
  }

  async stop(c: Context): Promise<ResendStatus> {
    const { jobs, auditLog } = this.#deps
    const job: ResendJob | undefined = await jobs.cancel()
    if (!job) throw new RequestError(409, 'No entries are being sent again.')
    auditLog.recordChange(c, 'store-stop', {
      ...(job.project !== undefined && { project: job.project }),
      envelopes: job.sent,
    })
    return { job }
  }

  /** Sends one entry again, also when it was resent within the last hour. */
  async #resendOne(c: Context, given: Given): Promise<ResendStarted> {
    const { spool, jobs, auditLog } = this.#deps
    rejectOthers(given, ['id', 'dry_run'])
    const ref = readRef(given.id)
    const [found] = await spool.entries.list({ entry: ref }, { limit: 1 })
    if (!found)
      throw new RequestError(404, 'The entry is gone. GET /store/entries lists those that are there.')
    if (!found.isStored)
      throw new RequestError(
        409,
        'Only the line of this entry is left. Its envelope was evicted, and cannot be sent again.',
      )
    if (given.dry_run === true) return { entries: 1, bytes: found.bytes, skipped: 0, undeliverable: 0 }
    this.#checkDeliverable({ projects: [found.project] })
    const resent = await jobs.resendOne({ entry: ref })
    if (!resent)
      throw new RequestError(
        409,
        'It is pending already, or the share of its network or project is used up. Try again later.',
      )
    const { id, receipt, project } = this.#describe(found)
    auditLog.recordChange(c, 'store-resend', { id, receipt, project, envelopes: 1 })
    return { entries: 1, bytes: resent.bytes, skipped: 0, undeliverable: 0 }
  }

  /** Throws if the envelopes would be pending until they expire. */
  #checkDeliverable(order: Pick<ResendOrder, 'projects'>): void {
    if (this.#deps.jobs.isDeliverable(order)) return
    throw new RequestError(
      409,
      order.projects?.every(isMirrorKey)
        ? 'No configured mirror takes them: add it to MIRROR_DSN first.'
        : 'No configured project takes them: add its DSN to SENTRY_DSN first.',
    )
  }

  async #findPending(c: Context): Promise<ListedEntry> {
    const [found] = await this.#deps.spool.list({ entry: readRef(c.req.param('id')) })
    if (!found) throw notPending()
    return found
  }

  async #countPending({ projects, category }: EntryFilter): Promise<number> {
    const { partitions } = await this.#deps.spool.totals()
    return partitions
      .filter((partition) => projects?.includes(partition.project) ?? true)
      .filter((partition) => category === undefined || partition.category === category)
      .reduce((sum, { envelopes }) => sum + envelopes, 0)
  }

  async #readOrder(given: Given): Promise<ResendOrder> {
    const states = RESENDABLE_STATES.filter((state) => state === given.state)
    if (states.length === 0)
      throw new RequestError(400, `state is one of ${RESENDABLE_STATES.join(', ')}, or id names one entry.`)
    const { states: _, ...filter } = await this.#readFilter(given)
    const limit = readWhole(given, 'limit')
    if (limit === 0) throw new RequestError(400, 'limit is a whole number from 1.')
    return {
      ...{ ...filter, states },
      ...(filter.projects && { projectName: this.#queries.showName(String(given.project)) }),
      ...(limit !== undefined && { limit }),
    }
  }

  async #readFilter(given: Given): Promise<Omit<EndedFilter, 'entry'>> {
    const state = readState(given)
    const ended = ENDED_STATES.filter((each) => each === state)
    const [from, to] = [readWhole(given, 'from'), readWhole(given, 'to')]
    if (from !== undefined && to !== undefined && from > to)
      throw new RequestError(400, 'from is later than to. Both are times in milliseconds since 1970.')
    const { project, event_id: eventId } = given
    return {
      ...(ended.length > 0 && { states: ended }),
      ...(project !== undefined && { projects: await this.#keysOf(String(project), state) }),
      ...(eventId !== undefined && { eventId: readEventId(String(eventId)) }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    }
  }

  /** A DSN selects the ended entries of its mirror too, and no pending ones, as where they are purged. */
  #keysOf(project: string, state: EntryState | undefined): Promise<string[]> {
    return state === 'pending' ? this.#queries.keysOf(project) : this.#queries.storedKeysOf(project)
  }

  #projectOf({ project }: Given): { project?: string } {
    return project === undefined ? {} : { project: this.#queries.showName(String(project)) }
  }

  #describe(entry: ListedEntry | EndedEntry): StoreEntry {
    const { id, key, receipt, eventId, project, category, bytes, received, resent } = entry
    const isEnded = 'state' in entry
    return {
      ...{ id: `${id}-${key}`, state: isEnded ? entry.state : 'pending', receipt },
      ...(eventId !== undefined && { event_id: eventId }),
      project: this.#deps.projects.nameOf(project),
      ...(isMirrorKey(project) && { mirror: true }),
      ...{ category: showCategory(category), bytes, received },
      ...(isEnded ? { ended: entry.ended } : { attempts: entry.attempts, leased: entry.leased }),
      ...(!isEnded && entry.due !== undefined && { due: entry.due }),
      ...(resent !== undefined && { resent }),
      ...(isEnded && entry.status !== undefined && { status: entry.status }),
      ...(isEnded && entry.answer !== undefined && { answer: entry.answer }),
      stored: isEnded ? entry.isStored : true,
    }
  }

  #subjectOf(entry: ListedEntry): Pick<StoreEntry, 'id' | 'receipt' | 'project' | 'category'> {
    const { id, receipt, project, category } = this.#describe(entry)
    return { id, receipt, project, category }
  }
}

/** Web of the release before, which runs during a deploy, reads `envelopes`. */
function withFormerName(page: StorePage): StorePage & { envelopes: StoreEntry[] } {
  return { ...page, envelopes: page.entries }
}

function notPending(): RequestError {
  return new RequestError(404, 'The entry is no longer in the spool. GET /spool lists pending entries.')
}

function cursorOf(entry: ListedEntry | EndedEntry): string {
  return 'state' in entry ? `${entry.ended}-${entry.id}` : `${pendingSince(entry)}-${entry.place}`
}

/** Throws when a selection of one entry has more members, which would change nothing. */
function rejectOthers(given: Given, known: readonly string[]): void {
  const other = Object.keys(given).find((name) => !known.includes(name))
  if (other !== undefined)
    throw new RequestError(400, `id names one entry; leave ${other} out, or select entries without id.`)
}

/** Reads a body, whose length has to be known. Unknown members get 400, since ignoring them could do more than was meant. */
async function readBody(c: Context, known: readonly string[], example: string): Promise<Given> {
  const isShort = Number(c.req.header('content-length')) <= MAX_BODY_BYTES
  const text = isShort ? await c.req.text() : ''
  const body: unknown = parseJson(text)
  if (!isObject(body)) throw new RequestError(400, `The body is a JSON object, such as ${example}.`)
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new RequestError(400, `"${unknown.slice(0, 40)}" is not a member. Members: ${known.join(', ')}.`)
  if (body.dry_run !== undefined && typeof body.dry_run !== 'boolean')
    throw new RequestError(400, 'dry_run is true or false.')
  return body
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readState({ state }: Given): EntryState | undefined {
  if (state === undefined) return undefined
  const known = ENTRY_STATES.find((each) => each === state)
  if (known) return known
  throw new RequestError(400, `state is one of ${ENTRY_STATES.join(', ')}.`)
}

function readEventId(text: string): string {
  const eventId = text.replaceAll('-', '').toLowerCase()
  if (EVENT_ID.test(eventId)) return eventId
  throw new RequestError(400, 'An event ID has 32 hexadecimal digits.')
}

function namedOf(given: Given): Given {
  return Object.fromEntries(Object.entries(given).filter(([name]) => LISTED.includes(name)))
}

/** Writes the place of the next step of an erasure. The first step has none. */
function showPlace(place: ErasurePlace): string {
  if ('pending' in place) return `pending-${place.pending.received}-${place.pending.place}`
  return place.ended ? `ended-${place.ended.ended}-${place.ended.id}` : 'ended'
}

function readPlace(after: unknown): ErasurePlace {
  const [, state, time, place] = /^(pending|ended)(?:-(\d{1,15})-(\d{1,15}))?$/.exec(String(after)) ?? []
  if (state === 'ended')
    return { ended: time === undefined ? undefined : { ended: Number(time), id: Number(place) } }
  if (state === 'pending' && time !== undefined)
    return { pending: { received: Number(time), place: Number(place) } }
  throw new RequestError(400, 'after is the "next" of the step before.')
}
