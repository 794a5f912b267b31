/** Browser settings, for documents that do not carry them. */

import { config } from '../../../../lib/config.ts'
import { settingsFor } from '../../../../lib/sentry/privacy.ts'

export const dynamic = 'force-dynamic'

export function GET(request: Request): Response {
  return Response.json(settingsFor(config(), request.headers) ?? null, {
    headers: { 'Cache-Control': 'no-store' },
  })
}
