/** Envelopes that Culvert lost: good ones that never reach Sentry, although no policy, operator or Sentry decided so. */

import { REJECTIONS } from 'tunnel/rejections'
import type { SpoolStatus } from 'tunnel/spool-contract'
import { type Figures, sumCounts } from './figures.ts'

export type Losses = {
  /** Expired in the spool, or made room for more important envelopes. */
  expired: number
  /** Answered with 503: SDKs do not send them again. */
  unavailable: number
  /** Acknowledged entries that the store lost. */
  vanished: number
  /** Damaged spool files. The number of their envelopes is unknown until they are recovered. */
  damagedFiles: number
}

const UNAVAILABLE: ReadonlySet<string> = new Set(
  Object.entries(REJECTIONS).flatMap(([code, { status }]) => (status === 503 ? [code] : [])),
)

export function countLosses(
  { outcomes, final_outcomes, vanished }: Figures,
  spools: readonly Pick<SpoolStatus, 'damaged_files'>[],
): Losses {
  return {
    expired: sumCounts(final_outcomes.filter(({ final_outcome }) => final_outcome === 'expired')),
    unavailable: sumCounts(
      outcomes.filter(({ outcome, reason }) => outcome === 'rejected' && UNAVAILABLE.has(reason)),
    ),
    vanished,
    damagedFiles: spools.reduce((sum, { damaged_files = [] }) => sum + damaged_files.length, 0),
  }
}

/** Returns the number of lost envelopes, without those of damaged files. */
export function sumLosses({ expired, unavailable, vanished }: Losses): number {
  return expired + unavailable + vanished
}
