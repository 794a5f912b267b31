/** The operator's hand on the inbox: read what is kept, and delete it. */

import { type Context, Hono } from 'hono'
import type { Inbox } from '../inbox/inbox.ts'
import type { AuditLog } from './audit-log.ts'
import { download, onlySaying, onlyWith } from './responses.ts'

const MOST_LISTED = 200
const MOST_FIRST = 16 * 1024 * 1024 // bytes, 16 MiB

export function createInboxAdmin(inbox: Inbox, auditLog: AuditLog): Hono {
  const app = new Hono()
  app.get('/', onlySaying('limit', 'after', 'type'), list)
  app.delete('/', onlySaying('all'), deleteAll)
  app.all('/', onlyWith('GET, DELETE'))
  app.get('/:id', onlySaying('first'), read)
  app.delete('/:id', onlySaying(), deleteOne)
  app.all('/:id', onlyWith('GET, DELETE'))
  return app

  function list(c: Context): Response {
    const { limit = String(MOST_LISTED), after, type } = c.req.query()
    if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST_LISTED)
      return c.json({ detail: `limit is a number from 1 to ${MOST_LISTED}.` }, 400)
    if (after !== undefined && !/^\d{1,15}$/.test(after))
      return c.json({ detail: 'after is the "next" of the page before.' }, 400)
    if (type !== undefined && !/^[a-z_]{1,64}$/.test(type))
      return c.json({ detail: 'type is a type of item, like event or feedback.' }, 400)
    const page = inbox.list(Number(limit), after === undefined ? undefined : Number(after), type)
    auditLog.recordRead(c, 'inbox-list', { envelopes: page.entries.length })
    return c.json(page)
  }

  function read(c: Context): Response {
    const id = c.req.param('id') ?? ''
    const first = c.req.query('first')
    if (
      first !== undefined &&
      !(/^\d{1,8}$/.test(first) && Number(first) >= 1 && Number(first) <= MOST_FIRST)
    )
      return c.json({ detail: `first is a number of bytes from 1 to ${MOST_FIRST}.` }, 400)
    const envelope = inbox.read(id, first === undefined ? undefined : Number(first))
    if (!envelope) return gone(c)
    if (first !== undefined) c.header('x-envelope-bytes', String(inbox.size(id)))
    auditLog.record(c, 'inbox-read', { id })
    return download(c, envelope)
  }

  function deleteOne(c: Context): Response {
    const id = c.req.param('id') ?? ''
    if (!inbox.delete(id)) return gone(c)
    auditLog.record(c, 'inbox-delete', { id, envelopes: 1 })
    return c.json({ deleted: 1, left: inbox.count() })
  }

  /** Some in each turn of the event loop, which live traffic shares. */
  async function deleteAll(c: Context): Promise<Response> {
    if (c.req.query('all') === undefined)
      return c.json(
        { detail: 'Say ?all to delete everything in the inbox, or name one: DELETE /inbox/<id>.' },
        400,
      )
    const deleted = await inbox.deleteAll()
    auditLog.record(c, 'inbox-delete', { envelopes: deleted })
    return c.json({ deleted, left: inbox.count() })
  }
}

function gone(c: Context): Response {
  return c.json({ detail: 'No envelope of this id is in the inbox (any more).' }, 404)
}
