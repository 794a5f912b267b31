/** First envelope of a site since the set-up was opened. */

import type { Receipt, SpoolOutcome } from 'contract/admin-api'

/**
 * `unconfirmed`: one was accepted, but the operator has not said which site is meant. `spooled`: the upstream has accepted none of the site so
 * far, and this one is pending. `rejected`: none was accepted, and this one was not. `elsewhere`: only other senders have sent envelopes, this
 * one last.
 */
export type Arrival =
  | { state: 'waiting' }
  | { state: 'arrived' | 'unconfirmed' | 'spooled' | 'rejected' | 'elsewhere'; receipt: Receipt }

type Expected = {
  project: string
  /** Time of the page, in milliseconds since 1970. */
  since: number
}

/** Maximum number of receipts. Those that were not accepted are removed first: anybody can send them. */
const MAX_KEPT = 100

/** Adds a receipt that concerns the set-up. Keeps the first accepted one of each origin, and the last one that was not accepted. */
export function addReceipt(
  known: readonly Receipt[],
  receipt: Receipt,
  { project, since }: Expected,
): readonly Receipt[] {
  if (receipt.time < since || isReportOnly(receipt)) return known
  const isConcerned = receipt.project === project || (!isAccepted(receipt) && receipt.project === undefined)
  if (!isConcerned) return known
  const same = known.find(
    (each) => each.origin === receipt.origin && isAccepted(each) === isAccepted(receipt),
  )
  if (same && isAccepted(same)) return known
  const receipts = [...known.filter((each) => each !== same), receipt]
  if (receipts.length > MAX_KEPT)
    receipts.splice(
      Math.max(
        0,
        receipts.findIndex((each) => !isAccepted(each)),
      ),
      1,
    )
  return receipts
}

/** Returns the state for a site, or without one for any sender. */
export function arrivalOf(receipts: readonly Receipt[], site: string | undefined): Arrival {
  if (site === undefined) {
    const receipt = receipts.findLast(isAccepted) ?? receipts.at(-1)
    if (!receipt) return { state: 'waiting' }
    return isAccepted(receipt) ? { state: 'unconfirmed', receipt } : notAccepted(receipt)
  }
  const own = receipts.filter(({ origin }) => origin === site)
  const accepted = own.find(isAccepted)
  if (accepted) return { state: 'arrived', receipt: accepted }
  const [last, other] = [own.at(-1), receipts.at(-1)]
  if (last) return notAccepted(last)
  return other ? { state: 'elsewhere', receipt: other } : { state: 'waiting' }
}

/** Returns the origin of an address that an operator has typed; `undefined` for none, and for an address that is none. */
export function readSite(text: string): string | undefined {
  const given = text.trim()
  const url = URL.parse(given.includes('://') ? given : `https://${given}`)
  return url && /^https?:$/.test(url.protocol) ? url.origin : undefined
}

/** Gives spooled envelopes the outcome of their delivery. */
export function addFinalOutcomes(
  known: readonly Receipt[],
  finalOutcomes: readonly SpoolOutcome[],
): readonly Receipt[] {
  const byReceipt = new Map(finalOutcomes.map((each) => [each.receipt, each]))
  return known.map((receipt) => {
    const final = receipt.outcome === 'spooled' && byReceipt.get(receipt.id)
    if (!final || (final.final_outcome !== 'delivered' && final.final_outcome !== 'declined')) return receipt
    return { ...receipt, outcome: final.final_outcome }
  })
}

/** Only the upstream accepts an envelope: one in the spool may have the wrong key. */
function isAccepted({ outcome }: Receipt): boolean {
  return outcome === 'delivered'
}

function notAccepted(receipt: Receipt): Arrival {
  return { state: receipt.outcome === 'spooled' ? 'spooled' : 'rejected', receipt }
}

/** Reports whether the envelope contains only client reports, as those of the connection check do. */
function isReportOnly({ items }: Receipt): boolean {
  return items.length > 0 && items.every(({ type }) => type === 'client_report')
}
