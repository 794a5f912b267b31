/** History that the tunnels store. */

import 'server-only'
import { setTimeout as wait } from 'node:timers/promises'
import type { History, HistoryRange } from 'tunnel/contract'
import { type StoredHistory, storedHistoryOf } from '../monitor/stored-history.ts'
import type { AdminRequests } from './admin-requests.ts'

const MAX_WAIT_MS = 2_000 // a tunnel answers within 1 s

/**
 * Returns the counts of all replicas; `undefined` when none returns them within 2 s. Replicas that share a spool return the same: one is
 * asked.
 */
export async function readHistory(
  requests: AdminRequests,
  range: HistoryRange,
): Promise<StoredHistory | undefined> {
  const { replicas } = await requests.snapshot()
  const responding = replicas.filter(({ state }) => state === 'responding')
  const sharing = Map.groupBy(responding, ({ status }) => status?.history_store ?? status?.spool?.id)
  const asked = Array.from(sharing.values(), (its) =>
    askInTurn(
      requests,
      its.map(({ origin }) => `${origin}/history?range=${range}`),
    ),
  )
  const histories = await Promise.race([Promise.all(asked), wait(MAX_WAIT_MS, [], { ref: false })])
  return storedHistoryOf(histories.flat())
}

async function askInTurn(requests: AdminRequests, urls: readonly string[]): Promise<History[]> {
  for (const url of urls) {
    const response = await requests.send(url)
    if (response?.ok) return [(await response.json()) as History]
  }
  return []
}
