/** First envelope of a site since the set-up was opened. */

import type { Receipt } from 'tunnel/contract'

/** `rejected`: none was accepted so far, and this one was not. `elsewhere`: the last one was of another site. */
export type Arrival = { state: 'waiting' } | { state: 'arrived' | 'rejected' | 'elsewhere'; receipt: Receipt }

/** Expected sender. Without a site, any envelope of the project will do. */
export type Expected = {
  project: string
  /** Origin of the site. */
  site?: string | undefined
  /** Time of the page, in milliseconds since 1970. */
  since: number
}

/** Outcomes of envelopes that Culvert has, or that Sentry has seen. */
const ARRIVED: readonly Receipt['outcome'][] = ['delivered', 'spooled']

/** Adds a receipt to what is known. */
export function addReceipt(known: Arrival, receipt: Receipt, { project, site, since }: Expected): Arrival {
  if (known.state === 'arrived' || receipt.time < since || isReportOnly(receipt)) return known
  const isAccepted = ARRIVED.includes(receipt.outcome)
  const isConcerned = receipt.project === project || (!isAccepted && receipt.project === undefined)
  if (!isConcerned) return known
  if (site !== undefined && receipt.origin !== site) return { state: 'elsewhere', receipt }
  return { state: isAccepted ? 'arrived' : 'rejected', receipt }
}

/** Returns the origin of an address that an operator has typed; `undefined` for none, and for an address that is none. */
export function readSite(text: string): string | undefined {
  const given = text.trim()
  const url = URL.parse(given.includes('://') ? given : `https://${given}`)
  return url && /^https?:$/.test(url.protocol) ? url.origin : undefined
}

/** Reports whether the envelope contains only client reports, as those of the connection check do. */
function isReportOnly({ items }: Receipt): boolean {
  return items.length > 0 && items.every(({ type }) => type === 'client_report')
}
