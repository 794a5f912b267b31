/** Returns the outcome of a report that the lab triggered on the server. */

import { config } from '../../../lib/config.ts'
import { findLabReport } from '../../../lib/sentry/lab-reports.ts'

export function GET(request: Request): Response {
  if (!config().lab) return new Response(null, { status: 404 })
  const reference = new URL(request.url).searchParams.get('reference') ?? ''
  return Response.json(findLabReport(reference) ?? {}, { headers: { 'Cache-Control': 'no-store' } })
}
