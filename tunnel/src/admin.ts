/** What operators and the console may ask, on a port of its own. */

import { createHash, timingSafeEqual } from 'node:crypto'
import { type Context, Hono, type Next } from 'hono'
import type { Logger } from 'pino'
import { streamReceipts } from './feed.ts'
import type { Inbox } from './inbox.ts'
import { LOG_LEVELS } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Receipts } from './receipts.ts'
import type { Status } from './status.ts'

export type AdminParts = {
  metrics: Metrics
  inbox: Inbox | undefined
  receipts: Receipts
  replica: string
  logger: Logger
  status: () => Promise<Status>
  /** `undefined` closes everything that needs a token. */
  token: string | undefined
  /** Listening and not stopping; neither a dead Sentry nor a full disk makes a replica unready. */
  isReady: () => boolean
}

const LISTED = 200

export function createAdmin({
  metrics,
  inbox,
  receipts,
  replica,
  logger,
  status,
  token,
  isReady,
}: AdminParts): Hono {
  const app = new Hono()
  app.get('/livez', (c) => c.text('ok'))
  app.get('/readyz', (c) => (isReady() ? c.text('ok') : c.text('stopping', 503)))
  app.get('/metrics', async (c) =>
    c.body(await metrics.expose(), 200, { 'content-type': 'text/plain; version=0.0.4' }),
  )
  app.use('*', guard(token))
  app.get('/status', async (c) => c.json(await status()))
  app.get('/receipts', (c) => streamReceipts(c, receipts, replica))
  app.get('/receipts/:token', (c) => findReceipt(c, receipts))
  app.put('/log-level', (c) => setLogLevel(c, logger))
  app.get('/inbox', (c) => (inbox ? c.json({ entries: inbox.list(LISTED) }) : noInbox(c)))
  app.get('/inbox/:id', (c) => (inbox ? readEntry(c, inbox) : noInbox(c)))
  app.all('*', (c) => c.json({ detail: 'There is nothing at this path.' }, 404))
  return app
}

/** Reads included: everything past the health and metrics needs `Authorization: Bearer`, and is never open. */
function guard(token: string | undefined) {
  return async function requireToken(c: Context, next: Next) {
    if (!token)
      return c.json(
        { detail: 'This port is closed: no token is configured. Set OPERATOR_PASSWORD or ADMIN_TOKEN.' },
        403,
      )
    const given = c.req.header('authorization') ?? ''
    if (!timingSafeEqual(digest(given), digest(`Bearer ${token}`)))
      return c.json({ detail: 'This needs the admin token: send Authorization: Bearer with it.' }, 401)
    return next()
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function findReceipt(c: Context, receipts: Receipts): Response {
  const receipt = receipts.find(c.req.param('token') ?? '')
  return receipt
    ? c.json(receipt)
    : c.json(
        { detail: 'No receipt has this token here: the tunnel that answered keeps it, for 10 minutes.' },
        404,
      )
}

/** For as long as the process runs; the next start reads LOG_LEVEL again. */
async function setLogLevel(c: Context, logger: Logger): Promise<Response> {
  const level = LOG_LEVELS.find((known) => known === c.req.query('level'))
  if (!level)
    return c.json(
      { detail: `Name a level: PUT /log-level?level= with one of ${LOG_LEVELS.join(', ')}.` },
      400,
    )
  logger.level = level
  return c.json({ level })
}

function noInbox(c: Context): Response {
  return c.json({ detail: 'The inbox is off. Set INBOX=on to keep envelopes beside a real DSN.' }, 404)
}

/** The envelope is data of strangers: handed out as a download that nothing may run. */
function readEntry(c: Context, inbox: Inbox): Response {
  const envelope = inbox.read(c.req.param('id') ?? '')
  if (!envelope) return c.json({ detail: 'No envelope of this id is in the inbox (any more).' }, 404)
  return c.body(new Uint8Array(envelope), 200, {
    'content-type': 'application/x-sentry-envelope',
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
  })
}
