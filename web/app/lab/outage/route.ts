/** State of the simulated outage. POST begins it and DELETE ends it, both with a pass of the lab. */

import { canSimulateOutage, rejectionOf } from '../../../features/lab/access.ts'
import { changeOutage, readOutage } from '../../../features/lab/outage.ts'
import { config } from '../../../lib/config.ts'

const NO_STORE = { 'Cache-Control': 'no-store' }
const STATUS = { off: 404, forged: 403, expired: 403, used: 403, limited: 429 }

export async function GET(): Promise<Response> {
  const settings = config()
  if (!canSimulateOutage(settings)) return new Response(null, { status: 404 })
  return respond(await readOutage(settings))
}

export function POST(request: Request): Promise<Response> {
  return change(request, 'POST')
}

export function DELETE(request: Request): Promise<Response> {
  return change(request, 'DELETE')
}

async function change(request: Request, method: 'POST' | 'DELETE'): Promise<Response> {
  const settings = config()
  if (!canSimulateOutage(settings)) return new Response(null, { status: 404 })
  const { searchParams } = new URL(request.url)
  const asked = { pass: searchParams.get('pass') ?? '', reference: searchParams.get('reference') ?? '' }
  const rejection = rejectionOf(asked, request.headers)
  if (rejection) return Response.json({ rejection }, { status: STATUS[rejection], headers: NO_STORE })
  return respond(await changeOutage(settings, method))
}

function respond(status: object | undefined): Response {
  return status
    ? Response.json(status, { status: 'detail' in status ? 409 : 200, headers: NO_STORE })
    : Response.json({}, { status: 503, headers: NO_STORE })
}
