/** The browser's settings, for a document that does not carry them itself. */

import { config } from '../../lib/config.ts'

export const dynamic = 'force-dynamic'

export function GET(): Response {
  return Response.json(config().browser, { headers: { 'Cache-Control': 'no-store' } })
}
