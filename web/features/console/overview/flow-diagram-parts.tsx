/** Parts of the flow diagram: stops, arrows between them, and rates by outcome. */

import type { Outcome } from 'contract/admin-api'
import type { ReactNode } from 'react'
import { formatCount, formatDuration } from '../../../lib/format.ts'
import { OutcomeLabel } from '../../../ui/outcome-badge.tsx'
import type { DurationPercentiles } from '../figures/figure-sums.ts'

/** Shown for numbers while the figures are missing. */
export const UNKNOWN = 'unknown'

/** Formats a rate in the unit that the whole diagram uses. */
export type FormatRate = (perSecond: number) => string

/** `isForked`: as tall as all of its branches. */
export function Stop({ isForked, children }: { isForked?: true; children: ReactNode }) {
  return (
    <li
      className={`flex min-w-0 flex-col justify-center rounded-part border border-line bg-ground px-3 py-2 leading-snug desk:min-h-14 ${isForked ? '' : 'desk:self-center'}`}
    >
      {children}
    </li>
  )
}

type EdgeProps = {
  rate: number | undefined
  tone: string
  above: ReactNode
  isFork?: true
  children?: ReactNode
}

/** Arrow with a rate, wider for a higher one; vertical on a phone, horizontal on wide screens. */
export function Edge({ rate = 0, tone, above, isFork, children }: EdgeProps) {
  const colour = rate > 0 ? tone : 'text-quiet/50'
  return (
    <li className="flex min-w-0 flex-wrap items-center gap-x-3 px-3 py-1.5 text-note tabular-nums desk:flex-col desk:flex-nowrap desk:items-stretch desk:justify-center desk:gap-0.5 desk:px-2 desk:py-0">
      <svg
        viewBox="0 0 28 12"
        aria-hidden="true"
        className={`h-3 w-7 shrink-0 desk:hidden ${isFork ? '-ml-3.5' : '-mx-2 rotate-90'} ${colour}`}
      >
        <path d="M0 6h21" stroke="currentColor" strokeWidth={widthFor(rate)} />
        <path d="M19 1v10l8-5z" fill="currentColor" />
      </svg>
      <div className="min-w-0 desk:text-center">{above}</div>
      <span className={`hidden items-center desk:flex ${colour}`}>
        <svg aria-hidden="true" className="h-2 min-w-0 flex-1">
          <line x2="100%" y1="4" y2="4" stroke="currentColor" strokeWidth={widthFor(rate)} />
        </svg>
        <svg viewBox="0 0 9 12" aria-hidden="true" className="h-3 w-2.25">
          <path d="M0 0v12l9-6z" fill="currentColor" />
        </svg>
      </span>
      <div className="min-w-0 text-quiet desk:min-h-[1.3em] desk:text-center">{children}</div>
    </li>
  )
}

/** Returns the stroke width for a rate, on a logarithmic scale. */
function widthFor(perSecond: number): number {
  if (perSecond === 0) return 1
  return Math.max(1.5, Math.min(6, 2.5 + Math.log10(perSecond)))
}

/** Durations of the slow envelopes: p95 and p99. */
export function Slowest({ durations: { p95, p99 } }: { durations: DurationPercentiles }) {
  if (p95 === undefined || p99 === undefined) return null
  return (
    <>
      <span className="whitespace-nowrap">p95 {formatDuration(p95 * 1000)}</span>{' '}
      <span className="whitespace-nowrap">p99 {formatDuration(p99 * 1000)}</span>
    </>
  )
}

type OutcomeRateProps = {
  outcome: Outcome
  /** Absent, like the number, while the figures are missing. */
  rate: number | undefined
  count: number | undefined
  format: FormatRate
}

/** Current rate of an outcome; without one, the number of the last 15 minutes. */
export function OutcomeRate({ outcome, rate = 0, count, format }: OutcomeRateProps) {
  const total = count === undefined ? UNKNOWN : count > 0 ? formatCount(count) : 'none'
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <OutcomeLabel outcome={outcome} /> {rate > 0 ? format(rate) : total}
    </span>
  )
}
