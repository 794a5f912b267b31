/** Receipt of an envelope that this browser sent. */

import type { Receipt as TunnelReceipt } from 'contract/admin-api'

/** Receipt as `/console/public/receipt.json` returns it. */
export type Receipt = Pick<TunnelReceipt, 'outcome' | 'reason'>

const TIMEOUT_MS = 10_000

/** Fetches a receipt; `undefined` when there is none. */
export async function fetchReceipt(token: string): Promise<Receipt | undefined> {
  try {
    const response = await fetch(`/console/public/receipt.json?token=${token}`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  }
}
