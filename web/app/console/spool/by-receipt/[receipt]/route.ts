/** Redirects from a receipt to its spool entry, or to the spool when it is no longer pending. */

import { requireConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { seeOther } from '../../../../../features/console/responses.ts'
import { withQuery } from '../../../../../features/console/routes.ts'
import { SPOOL } from '../../../../../features/console/spool/spool-query.ts'

type Context = { params: Promise<{ receipt: string }> }

export async function GET(request: Request, { params }: Context): Promise<Response> {
  const { receipt } = await params
  const given = new URL(request.url).searchParams.get('time') ?? ''
  const path = withQuery(`${SPOOL}/by-receipt/${encodeURIComponent(receipt)}`, { time: given })
  const data = await requireConsoleData(path)
  const time = /^\d{1,15}$/.test(given) ? Number(given) : 0
  for (const { id: spool } of (await data.snapshot()).spools) {
    const id = await data.spool.findByReceipt(spool, receipt, time)
    if (id !== undefined) return seeOther(withQuery(`${SPOOL}/${id}`, { spool }))
  }
  return seeOther(SPOOL)
}
