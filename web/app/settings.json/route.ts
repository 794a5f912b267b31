/** The browser's settings, for a document that does not carry them itself. */

import { config } from '../../lib/config.ts'
import { settingsFor } from '../../lib/sentry/privacy.ts'

export const dynamic = 'force-dynamic'

export function GET(request: Request): Response {
  return Response.json(settingsFor(config(), request.headers) ?? null, {
    headers: { 'Cache-Control': 'no-store' },
  })
}
