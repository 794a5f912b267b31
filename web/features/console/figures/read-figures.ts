/** Reads the figures of each store. A store that is slow or fails does not keep those of the others away. */

import type { Figures } from 'contract/figures'
import type { FiguresReading } from 'contract/situation/problems'
import { hostOf } from 'contract/situation/upstreams'
import type { ReplicaView } from '../monitor/replicas.ts'
import { mergeFigures } from './figure-sums.ts'
import type { Range } from './range.ts'

/** Returns the response to a `GET` of this path. Rejects, with the reason, when there is none. */
export type AskFigures = (origin: string, path: string) => Promise<unknown>

type FiguresRequest = { range: Range; now: number; ask: AskFigures; waitMs: number }

/** Asks one replica of each store, and another one when it fails. Each store has `waitMs`. Stores of stopped replicas are left out. */
export async function readFigures(
  replicas: readonly ReplicaView[],
  { range, now, ask, waitMs }: FiguresRequest,
): Promise<FiguresReading> {
  const path = `/figures?from=${now - range.ms}&to=${now}&step=${range.stepMs}`
  const running = replicas.filter(({ state }) => state !== 'stopped')
  const stores = [...Map.groupBy(running, storeOf).values()]
  const results = await Promise.allSettled(
    stores.map((sharing) => within(waitMs, askInTurn(sharing, path, ask))),
  )
  const figures = mergeFigures(
    results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
  )
  const missing = results.flatMap((result, index) =>
    result.status === 'rejected'
      ? [`Figures of ${namesOf(stores[index])} are missing: ${messageOf(result.reason)}.`]
      : [],
  )
  if (stores.length === 0) missing.push('Figures are missing: no replica responds.')
  return { ...(figures && { figures }), ...(missing.length > 0 && { missing: missing.join(' ') }) }
}

/** Returns the store of a replica; its origin while that is not known. */
function storeOf({ status, origin }: ReplicaView): string {
  return status?.history_store ?? status?.spool?.id ?? origin
}

async function askInTurn(replicas: readonly ReplicaView[], path: string, ask: AskFigures): Promise<Figures> {
  let problem: unknown = new Error('no response')
  for (const { origin, state } of replicas)
    if (state === 'responding')
      try {
        const figures = await ask(origin, path)
        if (isFigures(figures)) return figures
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

function isFigures(value: unknown): value is Figures {
  return typeof value === 'object' && value !== null && 'points' in value && Array.isArray(value.points)
}

function namesOf(replicas: readonly ReplicaView[] = []): string {
  return replicas.map(({ name, origin }) => name ?? hostOf(origin)).join(', ')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
