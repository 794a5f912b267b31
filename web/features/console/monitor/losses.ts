/** Envelopes that Culvert lost: good ones that never reach Sentry, although no policy, operator or Sentry decided so. */

import { UNAVAILABLE } from 'contract/rejections'
import type { SpoolStatus } from 'contract/spool'
import { type Figures, sumCounts } from './figures.ts'

/** Lost envelopes by kind. */
export type LossCounts = {
  /** Expired in the spool, or made room for more important envelopes. */
  expired: number
  /** Rejected with 503: SDKs do not send these again. Envelopes that their senders keep are `deferred`. */
  unavailable: number
  /** Acknowledged entries that the store lost. */
  vanished: number
}

export type Losses = LossCounts & {
  /** Damaged spool files. The number of their envelopes is unknown. */
  damagedFiles: number
}

/** Totals of one replica at one time. */
export type LossSample = LossCounts & { time: number }

const RECENT_MS = 2 * 60_000

export function countLosses(figures: Figures, spools: readonly Pick<SpoolStatus, 'damaged_files'>[]): Losses {
  const damagedFiles = spools.reduce((sum, { damaged_files = [] }) => sum + damaged_files.length, 0)
  return { ...countLostEnvelopes(figures), damagedFiles }
}

export function countLostEnvelopes({ outcomes, final_outcomes, vanished }: Figures): LossCounts {
  return {
    expired: sumCounts(final_outcomes.filter(({ final_outcome }) => final_outcome === 'expired')),
    unavailable: sumCounts(
      outcomes.filter(({ outcome, reason }) => outcome === 'rejected' && UNAVAILABLE.has(reason)),
    ),
    vanished,
  }
}

/** Returns the number of lost envelopes, without those of damaged files. */
export function sumLosses({ expired, unavailable, vanished }: LossCounts): number {
  return expired + unavailable + vanished
}

/** Returns the samples of the last 2 minutes. */
export function recentSamples(samples: readonly LossSample[], time: number): LossSample[] {
  return samples.filter((sample) => sample.time >= time - RECENT_MS)
}

/** Returns the losses of the last 2 minutes. The first sample of a replica is no growth: it can be old. */
export function recentLosses(replicas: readonly (readonly LossSample[])[], time: number): LossCounts {
  const spans = replicas.map((samples) => recentSamples(samples, time))
  const grown = (kind: keyof LossCounts) =>
    spans.reduce((sum, span) => sum + (span.at(-1)?.[kind] ?? 0) - (span[0]?.[kind] ?? 0), 0)
  return { expired: grown('expired'), unavailable: grown('unavailable'), vanished: grown('vanished') }
}
