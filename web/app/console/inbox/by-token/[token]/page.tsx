/** Redirects from the receipt token of a response to its envelope in the inbox, or else to its receipt. */

import { redirect } from 'next/navigation'
import { requireConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { INBOX } from '../../../../../features/console/inbox/inbox-query.ts'
import { hasInbox } from '../../../../../features/console/monitor/snapshot.ts'
import { withQuery } from '../../../../../features/console/routes.ts'

type Props = { params: Promise<{ token: string }> }

export default async function TokenPage({ params }: Props): Promise<never> {
  const { token } = await params
  const data = await requireConsoleData(`${INBOX}/by-token/${token}`)
  const receipt = await data.receipt(token)
  if (!receipt) redirect('/console/live-feed')
  const isInInbox = receipt.outcome === 'delivered' && hasInbox(await data.snapshot())
  redirect(isInInbox ? `${INBOX}/${receipt.id}` : withQuery('/console/live-feed', { receipt: receipt.id }))
}
