/** Envelopes that were not delivered, by reason. */

import type { OutcomeTime, RejectionSample, Rejections, SettingInForce } from 'contract/admin-api'
import type { FigureCounts } from 'contract/figures'

/** Names an outcome and its reason, at once or after spooling. */
type Cause = Pick<OutcomeTime, 'stage' | 'outcome' | 'reason'>

export type RejectionCount = Cause & { count: number }

const ACCEPTED = new Set<OutcomeTime['outcome']>(['delivered', 'spooled'])

/** Lists rejections by cause, the most frequent first. */
export function countRejections({
  outcomes,
  final_outcomes,
}: Pick<FigureCounts, 'outcomes' | 'final_outcomes'>): RejectionCount[] {
  const causes = (stage: Cause['stage'], counts: Record<string, number>) =>
    Object.entries(counts).map(([name, count]) => {
      const [outcome, reason = ''] = name.split(':')
      return { stage, outcome: outcome as Cause['outcome'], reason, count }
    })
  return [...causes('answered', outcomes), ...causes('waited', final_outcomes)]
    .filter(({ outcome, count }) => !ACCEPTED.has(outcome) && count > 0)
    .sort((a, b) => b.count - a.count)
}

export function causeKey({ stage, outcome, reason }: Cause): string {
  return `${stage} ${outcome} ${reason}`
}

/** Rejections of all replicas, also of those that stopped. Bounded by the number of outcomes and codes. */
export class RejectionHistory {
  #known: Omit<Rejections, 'settings'> = { rejections: [], times: [] }

  /** Merges the present reports of replicas with earlier ones. The settings are the present ones. */
  add(reports: readonly Rejections[]): Rejections {
    const merged = mergeRejections([{ ...this.#known, settings: {} }, ...reports])
    this.#known = { rejections: merged.rejections, times: merged.times }
    return merged
  }
}

/** Keeps the newest sample per code, the first and last time per cause, and every value of a setting. */
function mergeRejections(reports: readonly Rejections[]): Rejections {
  const byCode = new Map<string, RejectionSample>()
  for (const sample of reports.flatMap(({ rejections }) => rejections)) {
    const other = byCode.get(sample.code) ?? sample
    byCode.set(sample.code, sample.last > other.last ? sample : other)
  }
  const times = mergeTimes(reports.flatMap((report) => report.times))
  return { rejections: [...byCode.values()], times, settings: mergeSettings(reports) }
}

/** Replicas may differ in a setting while they are replaced. */
function mergeSettings(reports: readonly Rejections[]): Rejections['settings'] {
  const merged: Record<string, SettingInForce[]> = {}
  for (const [reason, settings] of reports.flatMap((report) => Object.entries(report.settings)))
    for (const setting of settings) {
      merged[reason] ??= []
      if (!merged[reason].some(({ name, value }) => name === setting.name && value === setting.value))
        merged[reason].push(setting)
    }
  return merged
}

function mergeTimes(times: readonly OutcomeTime[]): OutcomeTime[] {
  const byCause = new Map<string, OutcomeTime>()
  for (const time of times) {
    const other = byCause.get(causeKey(time)) ?? time
    const [first, last] = [Math.min(time.first, other.first), Math.max(time.last, other.last)]
    byCause.set(causeKey(time), { ...time, first, last })
  }
  return [...byCause.values()]
}
