/** Receipt of an envelope that this browser sent. */

import type { Receipt } from 'tunnel/contract'

/** Receipt as its sender sees it: without replica, project and SDK, which are for operators only. */
export type VisitorReceipt = Omit<
  Receipt,
  'id' | 'project' | 'event_id' | 'sdk' | 'admitted_after_ms' | 'replica' | 'flags'
>

const TIMEOUT_MS = 10_000

/** Asks this site for the receipt; `undefined` when it has none to show. */
export async function fetchReceipt(token: string): Promise<VisitorReceipt | undefined> {
  try {
    const response = await fetch(`/receipt.json?token=${token}`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  }
}
