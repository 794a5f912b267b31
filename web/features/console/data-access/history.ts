/** History that the tunnels store. */

import 'server-only'
import type { HistoryRange } from 'contract/history'
import { describeMissing, readStores } from '../monitor/read-stores.ts'
import { type StoredHistory, storedHistoryOf } from '../monitor/stored-history.ts'
import type { AdminRequests } from './admin-requests.ts'

const MAX_WAIT_MS = 2_000 // a tunnel answers within 1 s

/** `missing` describes what is not included, and why. */
export type HistoryOfRange = { stored?: StoredHistory; missing?: string }

/** Returns the counts of all replicas. Replicas that share a store return the same: one is asked. */
export async function readHistory(requests: AdminRequests, range: HistoryRange): Promise<HistoryOfRange> {
  const { replicas } = await requests.snapshot()
  const ask = async (origin: string): Promise<unknown> => {
    const response = await requests.send(`${origin}/history?range=${range}`)
    if (!response) throw new Error('no response')
    const body: unknown = await response.json()
    if (!response.ok) throw new Error(detailOf(body) ?? `status ${response.status}`)
    return body
  }
  const read = await readStores(replicas, ask, MAX_WAIT_MS)
  const [stored, missing] = [storedHistoryOf(read.histories), describeMissing(read)]
  return { ...(stored && { stored }), ...(missing !== undefined && { missing }) }
}

function detailOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('detail' in body)) return undefined
  return String(body.detail)
}
