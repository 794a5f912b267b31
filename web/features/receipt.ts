/** Receipt of an envelope that this browser sent. */

import type { Outcome } from 'tunnel/contract'

/** What became of the envelope, as the tunnel that took it says. */
export type Receipt = { answer: Outcome; reason?: string; upstreamStatus?: number; upstreamTook?: number }

const TIMEOUT_MS = 10_000

/** Asks this site for the receipt; `undefined` when it has none to show. */
export async function fetchReceipt(token: string): Promise<Receipt | undefined> {
  try {
    const response = await fetch(`/receipt.json?token=${token}`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  }
}
