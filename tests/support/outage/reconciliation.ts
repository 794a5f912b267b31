/** Compares acknowledged with received envelopes by content after an outage. */

import type { Received } from '../sentry/received-request.ts'
import { contentOf } from './envelope-kinds.ts'
import type { Answered } from './steady-load.ts'

export type Settling = {
  acknowledged: number
  /** Acknowledged envelopes that Sentry did not receive, by kind. */
  lost: string[]
  /** Number of repeated arrivals. */
  duplicates: number
  /** Number of responses, by status; those for spooled envelopes apart, as `200 spooled`. */
  statuses: Record<string, number>
}

export function settle(answers: readonly Answered[], arrived: readonly Received[]): Settling {
  const arrivals = new Map<string, number>()
  for (const { decoded } of arrived) {
    const content = contentOf(decoded)
    arrivals.set(content, (arrivals.get(content) ?? 0) + 1)
  }
  const acknowledged = answers.filter(({ status }) => status >= 200 && status < 300)
  const statuses = Map.groupBy(answers, ({ status, isSpooled }) => `${status}${isSpooled ? ' spooled' : ''}`)
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter(({ content }) => !arrivals.has(content)).map(({ kind }) => kind),
    duplicates: [...arrivals.values()].reduce((sum, times) => sum + times - 1, 0),
    statuses: Object.fromEntries([...statuses].map(([status, its]) => [status, its.length])),
  }
}

export function p99(answers: readonly Answered[]): string {
  const sorted = answers.map(({ took }) => took).sort((a, b) => a - b)
  return `${(sorted[Math.floor(sorted.length * 0.99)] ?? NaN).toFixed(1)} ms of ${sorted.length}`
}
