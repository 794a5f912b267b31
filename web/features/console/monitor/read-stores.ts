/** Reads the history of each store. A store that is slow or fails does not keep those of the others away. */

import type { History } from 'contract/history'
import { hostOf } from './figures.ts'
import type { ReplicaView } from './replicas.ts'

export type StoredHistories = {
  histories: History[]
  /** Number of stores. */
  stores: number
  /** Reasons for the missing ones. */
  problems: string[]
}

/** Returns the response to `GET /history`. Rejects, with the reason, when there is none. */
export type AskHistory = (origin: string) => Promise<unknown>

/** Asks one replica of each store, and another one when it fails. Each store has `waitMs`. Stores of stopped replicas are left out. */
export async function readStores(
  replicas: readonly ReplicaView[],
  ask: AskHistory,
  waitMs: number,
): Promise<StoredHistories> {
  const running = replicas.filter(({ state, status }) => state !== 'stopped' && status)
  const sharing = [
    ...Map.groupBy(running, ({ status }) => status?.history_store ?? status?.spool?.id).values(),
  ]
  const results = await Promise.allSettled(sharing.map((its) => within(waitMs, askInTurn(its, ask))))
  return {
    histories: results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    stores: sharing.length,
    problems: results.flatMap((result, index) =>
      result.status === 'rejected' ? [`${nameOf(sharing[index])}: ${messageOf(result.reason)}`] : [],
    ),
  }
}

/** Describes which histories are missing; `undefined` when none is. */
export function describeMissing({ histories, stores, problems }: StoredHistories): string | undefined {
  const reasons = problems.length > 0 ? ` (${problems.join('; ')})` : ''
  if (histories.length === 0) return `No replica returns the history now${reasons}.`
  if (histories.length === stores) return undefined
  return `Incomplete: ${histories.length} of ${stores} stores returned their history${reasons}.`
}

async function askInTurn(replicas: readonly ReplicaView[], ask: AskHistory): Promise<History> {
  let problem: unknown = new Error('no replica responds')
  for (const { origin, state } of replicas)
    if (state === 'responding')
      try {
        const history = await ask(origin)
        if (isHistory(history)) return history
        problem = new Error('unknown response')
      } catch (error) {
        problem = error
      }
  throw problem
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no response within ${ms / 1000} s`)), ms)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

function isHistory(value: unknown): value is History {
  return typeof value === 'object' && value !== null && 'points' in value && Array.isArray(value.points)
}

function nameOf([first]: readonly ReplicaView[] = []): string {
  return first ? (first.name ?? hostOf(first.origin)) : 'unknown replica'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
