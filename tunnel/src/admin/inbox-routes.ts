/** Routes of the inbox: list, read and delete envelopes, and simulate an outage of Sentry. */

import { type Context, Hono } from 'hono'
import { MAX_OUTAGE_SECONDS, type SimulatedOutage } from '../forward/inbox-upstream.ts'
import type { EndedEntry, InboxPageQuery, Spool, Steps, Summaries } from '../pipeline/spool.ts'
import type { AuditLog } from './audit-log.ts'
import { addRoute, download, RequestError, readNumber, readWhole } from './responses.ts'
import { purgeKept, readKept } from './stored-entries.ts'

const MAX_LISTED = 200
const MAX_QUERY_LENGTH = 200 // characters
/** Parameters that are texts. */
const TEXTS = ['id', 'group', 'release', 'environment', 'replay', 'search'] as const
const MAX_STEPS = 200
const DEFAULT_OUTAGE_SECONDS = 30
const MAX_FIRST_BYTES = 16 * 1024 * 1024 // 16 MiB
/** Response while no kept envelopes can be read. */
export const NO_INBOX = 'There is no inbox. Set KEEP_HOURS to keep errors beside a real DSN.'

export function createInboxAdmin(
  spool: Spool,
  outage: SimulatedOutage | undefined,
  auditLog: AuditLog,
): Hono {
  const app = new Hono()
  addRoute(app, '/', {
    GET: { run: list },
    DELETE: { query: ['all'], run: deleteAll },
  })
  addRoute(app, '/groups', { GET: { run: listGroups } })
  addRoute(app, '/outage', {
    GET: { run: () => simulation().status() },
    POST: { query: ['seconds'], run: beginOutage },
    DELETE: { run: endOutage },
  })
  addRoute(app, '/:id', { GET: { run: read }, DELETE: { run: deleteOne } })
  return app.onError(unreadable)

  function inbox(): Summaries {
    if (spool.summaries) return spool.summaries
    throw new RequestError(404, NO_INBOX)
  }

  async function list(c: Context): Promise<object> {
    const page = await inbox().list(...readPageQuery(c))
    auditLog.recordRead(c, 'inbox-list', { envelopes: page.entries.length })
    return page
  }

  async function listGroups(c: Context): Promise<object> {
    const page = await inbox().groups(...readPageQuery(c), readSteps(c))
    auditLog.recordRead(c, 'inbox-list', { envelopes: page.groups.length })
    return { inbox: spool.id, ...page }
  }

  function simulation(): SimulatedOutage {
    if (!outage)
      throw new RequestError(404, 'An outage can be simulated in inbox mode only. SENTRY_DSN is set.')
    return outage
  }

  async function beginOutage(c: Context): Promise<object> {
    const seconds = readNumber(c.req.query(), 'seconds', MAX_OUTAGE_SECONDS) ?? DEFAULT_OUTAGE_SECONDS
    const status = await simulation().begin(seconds)
    if (!status)
      throw new RequestError(409, 'An outage has just ended. The next one can begin 3 minutes after its end.')
    auditLog.record(c, 'outage-begin', {}) // visitors of the lab do it too: it is no change by an operator
    return status
  }

  async function endOutage(c: Context): Promise<object> {
    const status = await simulation().end()
    auditLog.record(c, 'outage-end', {})
    return status
  }

  async function read(c: Context): Promise<Response> {
    const first = readNumber(c.req.query(), 'first', MAX_FIRST_BYTES, 'of bytes ')
    const entry = await find(c)
    const envelope = await readKept(spool, entry, first)
    if (first !== undefined) c.header('x-envelope-bytes', String(entry.bytes))
    auditLog.record(c, 'inbox-read', { id: entry.receipt })
    return download(c, envelope)
  }

  async function deleteOne(c: Context): Promise<object> {
    const entry = await find(c)
    if ((await spool.entries.purge({ entry })) === 0) throw notFound()
    auditLog.recordChange(c, 'inbox-delete', { id: entry.receipt, envelopes: 1 })
    return { deleted: 1, left: await countKept(spool) }
  }

  async function deleteAll(c: Context): Promise<object> {
    if (c.req.query('all') === undefined)
      throw new RequestError(400, 'Add ?all to delete everything, or name one envelope: DELETE /inbox/<id>.')
    inbox() // throws without one
    const deleted = await purgeKept(spool)
    auditLog.recordChange(c, 'inbox-delete', { envelopes: deleted })
    return { deleted, left: await countKept(spool) }
  }

  async function find(c: Context): Promise<EndedEntry> {
    const entry = await inbox().find(c.req.param('id') ?? '')
    if (!entry) throw notFound()
    return entry
  }
}

async function countKept({ entries }: Spool): Promise<number> {
  return (await entries.count({ states: ['kept'] })).entries
}

function unreadable({ message }: Error, c: Context): Response {
  return c.json({ detail: `The inbox cannot be read: ${message}. /status says more.` }, 503)
}

function notFound(): RequestError {
  return new RequestError(404, 'The inbox does not contain an envelope with this id.')
}

function readPageQuery(c: Context): [limit: number, query: InboxPageQuery] {
  const limit = readNumber(c.req.query(), 'limit', MAX_LISTED) ?? MAX_LISTED
  const { type, hidden, ...given } = c.req.query()
  const after = readWhole(given, 'after')
  for (const [name, text] of Object.entries({ type, hidden }))
    if (text !== undefined && !/^[a-z_]{1,64}$/.test(text))
      throw new RequestError(400, `${name} is a type of item, like event or feedback.`)
  const query: InboxPageQuery = { type, hidden, after }
  for (const name of TEXTS) {
    query[name] = given[name]
    if ((given[name] ?? '').length > MAX_QUERY_LENGTH)
      throw new RequestError(400, `${name} has at most ${MAX_QUERY_LENGTH} characters.`)
  }
  return [limit, query]
}

/** Reads the spans of time that groups are counted by; `undefined` without any. */
function readSteps(c: Context): Steps | undefined {
  const query = c.req.query()
  const from = readWhole(query, 'from')
  const stepMs = readNumber(query, 'step', Number.MAX_SAFE_INTEGER, 'of milliseconds ')
  const count = readNumber(query, 'steps', MAX_STEPS)
  if (from === undefined && stepMs === undefined && count === undefined) return undefined
  if (from === undefined || stepMs === undefined || count === undefined)
    throw new RequestError(400, 'from, step and steps belong together.')
  return { from, stepMs, count }
}
