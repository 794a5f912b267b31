/** Redirects from a receipt to its spool entry, or to the spool when it is no longer pending. */

import { redirect } from 'next/navigation'
import { requireConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { type Query, withQuery } from '../../../../../features/console/routes.ts'
import { SPOOL } from '../../../../../features/console/spool/spool-query.ts'

type Props = { params: Promise<{ receipt: string }>; searchParams: Promise<Query> }

/** The query has the time of the receipt, in milliseconds since 1970. */
export default async function ReceiptPage({ params, searchParams }: Props): Promise<never> {
  const [{ receipt }, query] = [await params, await searchParams]
  const data = await requireConsoleData(withQuery(`${SPOOL}/by-receipt/${receipt}`, query))
  const time = /^\d{1,15}$/.test(String(query.time)) ? Number(query.time) : 0
  const id = await data.spool.findByReceipt(receipt, time)
  redirect(id === undefined ? SPOOL : `${SPOOL}/${id}`)
}
