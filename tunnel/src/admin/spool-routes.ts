/** Routes of the spool: list and inspect pending entries, retry, purge, pause and resume. */

import { Readable } from 'node:stream'
import type {
  SpoolEntryDetails,
  SpoolListEntry,
  SpoolPage,
  SpoolPaused,
  SpoolPurged,
  SpoolRetried,
} from 'contract/spool'
import { type Context, Hono } from 'hono'
import type { ReaderLimits } from '../envelope/reader.ts'
import { showCategory, showPauses } from '../forward/spool-status.ts'
import type { Projects } from '../pipeline/projects.ts'
import {
  type EntryFilter,
  type ListedEntry,
  type OnFinalOutcome,
  pendingSince,
  type Spool,
} from '../pipeline/spool.ts'
import type { AuditLog } from './audit-log.ts'
import { addRoute, download, RequestError } from './responses.ts'
import { readRef, SELECTION, SpoolQueries } from './spool-query.ts'
import { purgePending, readStored } from './stored-entries.ts'

export type SpoolAdminDeps = {
  spool: Spool
  projects: Projects
  auditLog: AuditLog
  onFinalOutcome: OnFinalOutcome
  /** Bounds of header lines and items. */
  limits: Omit<ReaderLimits, 'keep'>
}

const MAX_ITEMS_SHOWN = 200

export function createSpoolAdmin(deps: SpoolAdminDeps): Hono {
  const admin = new SpoolAdmin(deps)
  const app = new Hono()
  addRoute(app, '/', {
    GET: { run: (c) => admin.list(c) },
    DELETE: { query: [...SELECTION, 'all'], run: (c) => admin.purgeSelection(c) },
  })
  addRoute(app, '/retry', { POST: { query: [...SELECTION, 'all'], run: (c) => admin.retrySelection(c) } })
  addRoute(app, '/pause', { POST: { query: SELECTION, run: (c) => admin.pause(c) } })
  addRoute(app, '/resume', { POST: { query: SELECTION, run: (c) => admin.resume(c) } })
  addRoute(app, '/:id', { GET: { run: (c) => admin.inspect(c) }, DELETE: { run: (c) => admin.purge(c) } })
  addRoute(app, '/:id/envelope', { GET: { run: (c) => admin.download(c) } })
  addRoute(app, '/:id/retry', { POST: { run: (c) => admin.retry(c) } })
  app.onError((error, c) =>
    c.json({ detail: `The spool does not answer: ${error.message}. /status says more.` }, 503),
  )
  return app
}

class SpoolAdmin {
  readonly #deps: SpoolAdminDeps
  readonly #spool: Spool
  readonly #auditLog: AuditLog
  readonly #queries: SpoolQueries

  constructor(deps: SpoolAdminDeps) {
    this.#deps = deps
    this.#spool = deps.spool
    this.#auditLog = deps.auditLog
    this.#queries = new SpoolQueries(deps.spool, deps.projects)
  }

  async list(c: Context): Promise<SpoolPage> {
    const { query, named } = await this.#queries.readPage(c)
    const found = await this.#spool.list(query)
    this.#auditLog.recordRead(c, 'spool-list', { ...named, envelopes: found.length })
    const last = found.length === query.limit ? found.at(-1) : undefined
    return {
      spool: this.#spool.id,
      envelopes: found.map((entry) => this.#describe(entry)),
      ...(last && { next: `${pendingSince(last)}-${last.place}` }),
    }
  }

  async inspect(c: Context): Promise<SpoolEntryDetails> {
    const found = await this.#find(c)
    this.#auditLog.recordRead(c, 'spool-inspect', this.#subjectOf(found))
    try {
      const stored = await this.#spool.read(found)
      const { header, items } = await readStored(stored, { ...this.#deps.limits, keep: () => false })
      const shown = items
        .slice(0, MAX_ITEMS_SHOWN)
        .map(({ type, header, bytes }) => ({ header: { type, ...header }, bytes }))
      const entry = { spool: this.#spool.id, ...this.#describe(found) }
      return { ...entry, header, items: shown, item_count: items.length }
    } catch (error) {
      if ((await this.#spool.list({ entry: found })).length > 0) throw error
      throw notPending()
    }
  }

  async download(c: Context): Promise<Response> {
    const found = await this.#find(c)
    const stored = await this.#spool.read(found)
    this.#auditLog.record(c, 'spool-read', this.#subjectOf(found))
    return download(
      c,
      Buffer.isBuffer(stored) ? new Uint8Array(stored) : (Readable.toWeb(stored.open()) as ReadableStream),
    )
  }

  async retry(c: Context): Promise<SpoolRetried> {
    const found = await this.#find(c)
    if (found.leased) throw new RequestError(409, 'A replica is delivering it at the moment.')
    const retried = (await this.#spool.retry({ entry: found })) || Number(found.due === undefined) // another replica may know when it is due
    if (retried === 0)
      throw new RequestError(409, 'A replica has just taken it, or the spool is too full to move it.')
    this.#auditLog.recordChange(c, 'spool-retry', { ...this.#subjectOf(found), envelopes: retried })
    return { retried }
  }

  async retrySelection(c: Context): Promise<SpoolRetried> {
    const { filter, named } = await this.#queries.readSelectionForChange(c)
    const retried = await this.#spool.retry(filter)
    this.#auditLog.recordChange(c, 'spool-retry', { ...named, envelopes: retried })
    return { retried }
  }

  async purge(c: Context): Promise<SpoolPurged> {
    const found = await this.#find(c)
    const purged = await purgePending(this.#deps, { entry: found })
    if (purged === 0) throw notPending()
    this.#auditLog.recordChange(c, 'spool-purge', { ...this.#subjectOf(found), envelopes: purged })
    return { purged, left: 0 }
  }

  async purgeSelection(c: Context): Promise<SpoolPurged> {
    const { filter, named } = await this.#queries.readSelectionForChange(c)
    const purged = await purgePending(this.#deps, filter)
    this.#auditLog.recordChange(c, 'spool-purge', { ...named, envelopes: purged })
    return { purged, left: await this.#count(filter) }
  }

  pause(c: Context): Promise<SpoolPaused> {
    return this.#setPaused(c, 'pause')
  }

  resume(c: Context): Promise<SpoolPaused> {
    return this.#setPaused(c, 'resume')
  }

  async #setPaused(c: Context, action: 'pause' | 'resume'): Promise<SpoolPaused> {
    if (c.req.query('category') !== undefined)
      throw new RequestError(400, 'A project can be paused, or everything; a category cannot.')
    const { filter, named } = await this.#queries.readSelection(c)
    for (const key of filter.projects ?? [undefined]) await this.#spool[action](key)
    this.#auditLog.recordChange(c, `spool-${action}`, named)
    const { paused } = await this.#spool.totals()
    return { paused: showPauses(paused, this.#deps.projects) }
  }

  async #find(c: Context): Promise<ListedEntry> {
    const [found] = await this.#spool.list({ entry: readRef(c.req.param('id')) })
    if (!found) throw notPending()
    return found
  }

  async #count({ projects, category }: EntryFilter): Promise<number> {
    const { partitions } = await this.#spool.totals()
    return partitions
      .filter((partition) => projects?.includes(partition.project) ?? true)
      .filter((partition) => category === undefined || partition.category === category)
      .reduce((sum, { envelopes }) => sum + envelopes, 0)
  }

  #describe({ id, key, receipt, project, category, due, ...entry }: ListedEntry): SpoolListEntry {
    const { bytes, received, attempts, leased } = entry
    return {
      ...{ id: `${id}-${key}`, receipt, project: this.#deps.projects.nameOf(project) },
      ...{ category: showCategory(category), bytes, received, attempts, leased },
      ...(due !== undefined && { due }),
    }
  }

  #subjectOf(entry: ListedEntry): Pick<SpoolListEntry, 'id' | 'receipt' | 'project' | 'category'> {
    const { id, receipt, project, category } = this.#describe(entry)
    return { id, receipt, project, category }
  }
}

function notPending(): RequestError {
  return new RequestError(404, 'The entry is no longer in the spool. GET /spool lists pending entries.')
}
