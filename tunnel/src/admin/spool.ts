/** The operator's hand on the spool: look at what waits, try it now, pause, purge. */

import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Context, Hono } from 'hono'
import type {
  SpoolEntryDetails,
  SpoolListEntry,
  SpoolPage,
  SpoolPaused,
  SpoolPurged,
  SpoolRetried,
} from '../contract.ts'
import { CATEGORY_NAMES } from '../envelope/items.ts'
import { type Envelope, EnvelopeReader, type ReaderLimits } from '../envelope/reader.ts'
import type { Projects } from '../projects.ts'
import type { OnFinalOutcome } from '../spool/final-outcomes.ts'
import type {
  EntryFilter,
  EntryRef,
  ListedEntry,
  PageQuery,
  Position,
  Spool,
  StoredBody,
} from '../spool/spool.ts'
import { readCategory, showCategory, showPauses } from '../spool/status.ts'
import type { AuditLog } from './audit-log.ts'
import { download, onlySaying, onlyWith, strayIn } from './responses.ts'

export type SpoolAdminDeps = {
  spool: Spool
  projects: Projects
  auditLog: AuditLog
  onFinalOutcome: OnFinalOutcome
  /** Bounds of header lines and items, as for what is let in. */
  limits: Omit<ReaderLimits, 'keep'>
}

/** A question that cannot be answered, in words. */
class Unanswerable extends Error {
  readonly status: 400 | 404 | 409

  constructor(status: 400 | 404 | 409, detail: string) {
    super(detail)
    this.status = status
  }
}

type Chosen = Omit<EntryFilter, 'entry'> & { named: { project?: string; category?: string } }

const LISTED = 50
const MOST_LISTED = 200
const ITEMS_SHOWN = 200
const TOLD_AT_A_TIME = 100 // ends in one turn of the event loop, which live traffic shares
const ID = /^(\d{1,15})-([0-9a-f]{32})$/
const CURSOR = /^(\d{1,15})-(\d{1,15})$/

export function createSpoolAdmin({
  spool,
  projects,
  auditLog,
  onFinalOutcome,
  limits,
}: SpoolAdminDeps): Hono {
  const app = new Hono()
  app.get('/', async (c) => c.json(await list(c)))
  app.delete('/', async (c) => c.json(await purgeMany(c)))
  app.all('/', onlyWith('GET, DELETE'))
  app.post('/retry', async (c) => c.json(await retryMany(c)))
  app.all('/retry', onlyWith('POST'))
  app.post('/pause', async (c) => c.json(await turn(c, 'pause')))
  app.all('/pause', onlyWith('POST'))
  app.post('/resume', async (c) => c.json(await turn(c, 'resume')))
  app.all('/resume', onlyWith('POST'))
  app.get('/:id', onlySaying(), async (c) => c.json(await inspect(c)))
  app.delete('/:id', onlySaying(), async (c) => c.json(await purgeOne(c)))
  app.all('/:id', onlyWith('GET, DELETE'))
  app.get('/:id/envelope', onlySaying(), handOut)
  app.all('/:id/envelope', onlyWith('GET'))
  app.post('/:id/retry', onlySaying(), async (c) => c.json(await retryOne(c)))
  app.all('/:id/retry', onlyWith('POST'))
  app.onError((error, c) =>
    error instanceof Unanswerable
      ? c.json({ detail: error.message }, error.status)
      : c.json({ detail: `The spool does not answer: ${error.message}. /status says more.` }, 503),
  )
  return app

  async function list(c: Context): Promise<SpoolPage> {
    const { named, ...query } = await readPageQuery(c)
    const found = await spool.list(query)
    auditLog.recordRead(c, 'spool-list', { ...named, envelopes: found.length })
    const last = found.length === query.limit ? found.at(-1) : undefined
    return {
      spool: spool.id,
      envelopes: found.map(rowOf),
      ...(last && { next: `${last.received}-${last.place}` }),
    }
  }

  async function readPageQuery(c: Context): Promise<PageQuery & Pick<Chosen, 'named'>> {
    const chosen = await choose(c, ['order', 'limit', 'after'])
    const order = c.req.query('order') ?? 'newest'
    if (order !== 'newest' && order !== 'oldest')
      throw new Unanswerable(400, 'order is "newest" or "oldest".')
    const limit = c.req.query('limit') ?? String(LISTED)
    if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST_LISTED)
      throw new Unanswerable(400, `limit is a number from 1 to ${MOST_LISTED}.`)
    const after = readCursor(c.req.query('after'))
    return { ...chosen, order, limit: Number(limit), ...(after && { after }) }
  }

  function rowOf({ project, category, leased, due, ...found }: ListedEntry): SpoolListEntry {
    const { id, key, receipt, bytes, received, attempts } = found
    return {
      ...{ id: `${id}-${key}`, receipt, project: projects.nameOf(project), category: showCategory(category) },
      ...{ bytes, received, attempts, leased, ...(due !== undefined && { due }) },
    }
  }

  async function find(c: Context): Promise<ListedEntry> {
    const found = await spool.find(readRef(c.req.param('id') ?? ''))
    if (!found) throw new Unanswerable(404, 'It no longer waits. GET /spool lists what does.')
    return found
  }

  async function inspect(c: Context): Promise<SpoolEntryDetails> {
    const found = await find(c)
    auditLog.recordRead(c, 'spool-inspect', aboutOne(found))
    const row = { spool: spool.id, ...rowOf(found) }
    try {
      const { header, items } = await readHeaders(await spool.read(found), limits)
      const shown = items
        .slice(0, ITEMS_SHOWN)
        .map(({ type, header, bytes }) => ({ header: { type, ...header }, bytes }))
      return { ...row, header, items: shown, item_count: items.length }
    } catch (error) {
      if (await spool.find(found)) throw error
      throw new Unanswerable(404, 'It no longer waits: it has just come to its end.')
    }
  }

  /** Data of strangers: handed out as a download that nothing may run. */
  async function handOut(c: Context): Promise<Response> {
    const found = await find(c)
    const kept = await spool.read(found)
    auditLog.record(c, 'spool-read', aboutOne(found))
    return download(
      c,
      Buffer.isBuffer(kept) ? new Uint8Array(kept) : (Readable.toWeb(kept.open()) as ReadableStream),
    )
  }

  async function retryOne(c: Context): Promise<SpoolRetried> {
    const found = await find(c)
    if (found.leased) throw new Unanswerable(409, 'A replica is trying it at this moment.')
    const retried = found.due === undefined ? 1 : await spool.retry({ entry: found })
    auditLog.record(c, 'spool-retry', { ...aboutOne(found), envelopes: retried })
    if (retried === 0)
      throw new Unanswerable(409, 'It was taken at this moment, or the spool is too full to move it.')
    return { retried }
  }

  async function retryMany(c: Context): Promise<SpoolRetried> {
    const { named, ...which } = await chooseForAct(c)
    const retried = await spool.retry(which)
    auditLog.record(c, 'spool-retry', { ...named, envelopes: retried })
    return { retried }
  }

  async function purgeOne(c: Context): Promise<SpoolPurged> {
    const found = await find(c)
    const purged = await purge({ entry: found })
    auditLog.record(c, 'spool-purge', { ...aboutOne(found), envelopes: purged })
    if (purged === 0) throw new Unanswerable(404, 'It no longer waits: it has just come to its end.')
    return { purged, left: 0 }
  }

  async function purgeMany(c: Context): Promise<SpoolPurged> {
    const { named, ...which } = await chooseForAct(c)
    const purged = await purge(which)
    auditLog.record(c, 'spool-purge', { ...named, envelopes: purged })
    return { purged, left: await count(which) }
  }

  async function purge(which: EntryFilter): Promise<number> {
    const gone = await spool.purge(which)
    for (const [n, entry] of gone.entries()) {
      if (n % TOLD_AT_A_TIME === 0) await nextTurn()
      onFinalOutcome(entry, 'purged', undefined)
    }
    return gone.length
  }

  async function count({ projects: keys, category }: EntryFilter): Promise<number> {
    const { partitions: byProject } = await spool.totals()
    return byProject
      .filter((partition) => keys?.includes(partition.project) ?? true)
      .filter((partition) => category === undefined || partition.category === category)
      .reduce((sum, { envelopes }) => sum + envelopes, 0)
  }

  async function turn(c: Context, how: 'pause' | 'resume'): Promise<SpoolPaused> {
    if (c.req.query('category') !== undefined)
      throw new Unanswerable(400, 'A project can be paused, or everything; a category cannot.')
    const { named, projects: keys } = await choose(c, [])
    for (const key of keys ?? [undefined]) await spool[how](key)
    auditLog.record(c, `spool-${how}`, named)
    const { paused } = await spool.totals()
    return { paused: showPauses(paused, projects) }
  }

  /** Acts on all that waits have to say so. */
  async function chooseForAct(c: Context): Promise<Chosen> {
    const chosen = await choose(c, ['all'])
    const all = c.req.query('all') !== undefined
    if (all === Object.keys(chosen.named).length > 0)
      throw new Unanswerable(
        400,
        'Say what: ?project= or ?category= or both, or ?all for everything that waits.',
      )
    return chosen
  }

  async function choose(c: Context, others: readonly string[]): Promise<Chosen> {
    const stray = strayIn(c, ['project', 'category', ...others])
    if (stray !== undefined) throw new Unanswerable(400, stray)
    const { project, category } = c.req.query()
    return {
      ...(project !== undefined && { projects: await keysOf(project) }),
      ...(category !== undefined && { category: await categoryOf(category) }),
      named: { ...(project !== undefined && { project }), ...(category !== undefined && { category }) },
    }
  }

  /** Of what waits too: it may be of a project that is configured no more. */
  async function keysOf(name: string): Promise<string[]> {
    const entry = (await spool.totals()).partitions.map(({ project }) => project)
    const keys = new Set([...projects.all.map(({ key }) => key), ...entry])
    const its = [...keys].filter((key) => projects.nameOf(key) === name)
    if (its.length === 0)
      throw new Unanswerable(
        404,
        'No such project is configured, and nothing of it waits. /status lists the projects.',
      )
    return its
  }

  /** Of what waits too: it may be one that another version knew. */
  async function categoryOf(shown: string): Promise<string> {
    const category = readCategory(shown)
    if (category === '' || CATEGORY_NAMES.has(category)) return category
    if ((await spool.totals()).partitions.some((partition) => partition.category === category))
      return category
    const known = [...CATEGORY_NAMES].sort().join(', ')
    throw new Unanswerable(
      400,
      `There is no category of this name. There are ${known}, and none for what has none.`,
    )
  }

  function aboutOne(found: ListedEntry): Record<string, unknown> {
    const { id, receipt, project, category } = rowOf(found)
    return { id, receipt, project, category }
  }
}

function readRef(id: string): EntryRef {
  const [, number, key] = ID.exec(id) ?? []
  if (number === undefined || key === undefined)
    throw new Unanswerable(
      400,
      'An id is as GET /spool lists it: a number, a hyphen and 32 hexadecimal digits.',
    )
  return { id: Number(number), key }
}

function readCursor(after: string | undefined): Position | undefined {
  if (after === undefined) return undefined
  const [, received, place] = CURSOR.exec(after) ?? []
  if (received === undefined || place === undefined)
    throw new Unanswerable(400, 'after is the "next" of the page before.')
  return { received: Number(received), place: Number(place) }
}

/** Payloads are passed over. */
async function readHeaders(kept: StoredBody, limits: Omit<ReaderLimits, 'keep'>): Promise<Envelope> {
  const reader = new EnvelopeReader({ ...limits, keep: () => false })
  if (Buffer.isBuffer(kept)) reader.push(kept)
  else for await (const chunk of kept.open()) reader.push(chunk)
  return reader.end()
}
