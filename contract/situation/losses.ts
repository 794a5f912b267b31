/** Envelopes that Culvert lost: valid ones that never reach Sentry, although no policy, operator or Sentry decided so. */

import { type FigureCounts, type Figures, sumFigures } from '../figures.ts'
import { UNAVAILABLE } from '../rejections.ts'

/** Lost envelopes by kind. */
export type LossCounts = {
  /** Expired in the spool. */
  expired: number
  /** Made room in the spool for more important envelopes. */
  evicted: number
  /** Rejected with 503: SDKs do not send these again. Envelopes that their senders keep are `deferred`. */
  unavailable: number
  /** Acknowledged entries that the store lost. */
  vanished: number
}

const RECENT_STEPS = 2

export function lossesOf(counts: Pick<FigureCounts, 'outcomes' | 'final_outcomes' | 'vanished'>): LossCounts {
  const unavailable = Object.entries(counts.outcomes).filter(([name]) => {
    const [outcome, reason = ''] = name.split(':')
    return outcome === 'rejected' && UNAVAILABLE.has(reason)
  })
  return {
    expired: counts.final_outcomes.expired ?? 0,
    evicted: counts.final_outcomes.evicted ?? 0,
    unavailable: unavailable.reduce((sum, [, count]) => sum + count, 0),
    vanished: counts.vanished,
  }
}

/** Returns the number of lost envelopes, without those of damaged files. */
export function sumLosses({ expired, evicted, unavailable, vanished }: LossCounts): number {
  return expired + evicted + unavailable + vanished
}

export function addLosses(a: LossCounts, b: LossCounts): LossCounts {
  return {
    expired: a.expired + b.expired,
    evicted: a.evicted + b.evicted,
    unavailable: a.unavailable + b.unavailable,
    vanished: a.vanished + b.vanished,
  }
}

/** Losses of the last two complete minutes and of the running one. */
export type RecentLosses = LossCounts & {
  /** Those that a full spool caused, for each second. */
  full_rate: number
}

/** `figures` are in steps of a minute. */
export function recentLosses({ points, to, step }: Figures): RecentLosses {
  const from = (Math.floor(to / step) - RECENT_STEPS) * step
  const recent = sumFigures(points.filter(({ time }) => time >= from))
  const full = (recent.outcomes['rejected:spool-full'] ?? 0) + (recent.final_outcomes.evicted ?? 0)
  return { ...lossesOf(recent), full_rate: full / ((to - from) / 1000) }
}
