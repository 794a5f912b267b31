/** Route handler that fails on purpose. */

import { labError, rejectionOf } from '../../../features/lab/access.ts'

const STATUS = { off: 404, forged: 403, expired: 403, used: 403, limited: 429 }

export async function POST(request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const asked = { pass: searchParams.get('pass') ?? '', reference: searchParams.get('reference') ?? '' }
  const rejection = rejectionOf(asked, request.headers)
  if (rejection) return Response.json({ rejection }, { status: STATUS[rejection] })
  throw labError('in a route handler', asked.reference)
}
