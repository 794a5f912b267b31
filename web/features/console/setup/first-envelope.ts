/** First envelope of a project since the set-up was opened. */

import type { Receipt } from 'tunnel/contract'

/** `rejected`: none was accepted so far, and this one was not. */
export type Arrival = { state: 'waiting' } | { state: 'arrived' | 'rejected'; receipt: Receipt }

/** Outcomes of envelopes that Culvert has, or that Sentry has seen. */
const ARRIVED: readonly Receipt['outcome'][] = ['delivered', 'spooled']

/** Adds a receipt to what is known. `since` is in milliseconds since 1970. */
export function addReceipt(known: Arrival, receipt: Receipt, project: string, since: number): Arrival {
  if (known.state === 'arrived' || receipt.time < since || isReportOnly(receipt)) return known
  if (ARRIVED.includes(receipt.outcome))
    return receipt.project === project ? { state: 'arrived', receipt } : known
  const isConcerned = receipt.project === undefined || receipt.project === project
  return isConcerned ? { state: 'rejected', receipt } : known
}

/** Reports whether the envelope contains only client reports, as those of the connection check do. */
function isReportOnly({ items }: Receipt): boolean {
  return items.length > 0 && items.every(({ type }) => type === 'client_report')
}
