/** What operators and the console may ask, on a port of its own. */

import { createHash, timingSafeEqual } from 'node:crypto'
import { type Context, Hono, type Next } from 'hono'
import type { Logger } from 'pino'
import type { Rejections } from '../contract.ts'
import type { Forwarding } from '../forwarding.ts'
import type { Inbox } from '../inbox/inbox.ts'
import type { Projects } from '../projects.ts'
import type { OnFinalOutcome } from '../spool/final-outcomes.ts'
import { Feed } from '../telemetry/feed.ts'
import { LOG_LEVELS } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Receipts } from '../telemetry/receipts.ts'
import type { RejectionSamples } from '../telemetry/rejection-samples.ts'
import type { SdkInventory } from '../telemetry/sdk-inventory.ts'
import { createAuditLog } from './audit-log.ts'
import { createInboxAdmin } from './inbox.ts'
import { onlySaying } from './responses.ts'
import { createSpoolAdmin, type SpoolAdminDeps } from './spool.ts'
import type { Status } from './status.ts'

export type AdminDeps = {
  metrics: Metrics
  inbox: Inbox | undefined
  /** Absent in inbox mode. */
  sentry: Forwarding | undefined
  projects: Projects
  /** Told of what is purged. */
  onFinalOutcome: OnFinalOutcome
  /** Bounds of header lines and items. */
  reader: SpoolAdminDeps['limits']
  receipts: Receipts
  rejectionSamples: RejectionSamples
  sdkInventory: SdkInventory
  /** Settings that would let pass what does not, by why. */
  remedies: Rejections['settings']
  replica: string
  logger: Logger
  status: () => Promise<Status>
  /** `undefined` closes everything that needs a token. */
  token: string | undefined
  /** Listening and not stopping; neither a dead Sentry nor a full disk makes a replica unready. */
  isReady: () => boolean
}

export function createAdmin({
  metrics,
  inbox,
  sentry,
  projects,
  onFinalOutcome,
  reader,
  receipts,
  rejectionSamples,
  sdkInventory,
  remedies,
  replica,
  logger,
  status,
  token,
  isReady,
}: AdminDeps): Hono {
  const app = new Hono()
  const feed = new Feed(receipts, replica)
  const auditLog = createAuditLog(logger, replica)
  app.get('/livez', (c) => c.text('ok'))
  app.get('/readyz', (c) => (isReady() ? c.text('ok') : c.text('stopping', 503)))
  app.get('/metrics', async (c) =>
    c.body(await metrics.expose(), 200, { 'content-type': 'text/plain; version=0.0.4' }),
  )
  app.use('*', guard(token))
  app.get('/status', async (c) => c.json(await status()))
  app.get('/figures', async (c) => c.json(await metrics.figures()))
  app.get('/receipts', (c) => feed.stream(c))
  app.get('/receipts/:token', (c) => findReceipt(c, receipts))
  app.get('/rejections', (c) =>
    c.json({
      rejections: rejectionSamples.all(),
      times: receipts.times(),
      settings: remedies,
    } satisfies Rejections),
  )
  app.get('/projects', (c) => c.json({ projects: sdkInventory.all() }))
  app.put('/log-level', onlySaying('level'), (c) => setLogLevel(c, logger))
  app.route(
    '/inbox',
    inbox
      ? createInboxAdmin(inbox, auditLog)
      : absent('The inbox is off. Set INBOX=on to keep envelopes beside a real DSN.'),
  )
  app.route(
    '/spool',
    sentry
      ? createSpoolAdmin({ spool: sentry.spool.store, projects, auditLog, onFinalOutcome, limits: reader })
      : absent('There is no spool in inbox mode. Set SENTRY_DSN.'),
  )
  app.all('*', (c) => c.json({ detail: 'There is nothing at this path.' }, 404))
  return app
}

function absent(detail: string): Hono {
  return new Hono().all('*', (c) => c.json({ detail }, 404))
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
        {
          detail:
            'No receipt has this token here: the tunnel that answered keeps it, for 10 minutes, and among the last 40,000 or so.',
        },
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
