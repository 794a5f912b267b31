/** Flow diagram with current rates: from browsers through nginx and the replicas to Sentry, the spool or a rejection. */

import type { Outcome } from 'contract/admin-api'
import type { ReactNode } from 'react'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatQuantity,
  rateUnit,
} from '../../../lib/format.ts'
import { StateMark } from '../../../ui/status-badge.tsx'
import { percentilesOf, sumByName } from '../figures/figure-sums.ts'
import { RECENT } from '../figures/range.ts'
import type { Flow, OverviewSnapshot, ReplicaSummary } from '../monitor/snapshot.ts'
import { hostOf } from '../monitor/upstreams.ts'
import { Edge, type FormatRate, OutcomeRate, Slowest, Stop, UNKNOWN } from './flow-diagram-parts.tsx'
import { UpstreamBranch } from './flow-diagram-upstream.tsx'

/** Outcomes without delivery. */
const NOT_DELIVERED: readonly Outcome[] = [
  ...(['deferred', 'rate_limited', 'filtered', 'rejected', 'declined', 'aborted'] as const),
]

/** Numbers of the last 15 minutes by outcome, and current rates; absent while the figures are missing. */
type Numbers = { counts: Record<string, number>; rates: Record<string, number> } | undefined

export function FlowDiagram({ overview }: { overview: OverviewSnapshot }) {
  const { flow } = overview
  const numbers = flow && numbersOf(flow)
  const rate = flow && flow.now.counts.received / flow.now.seconds
  const { per, seconds } = rateUnit(rate ?? 0)
  const format: FormatRate = (perSecond) => `${formatNumber(perSecond * seconds)}${per}`
  const recent = percentilesOf(flow?.now.counts.durations ?? {})
  return (
    <section aria-label="Envelope flow" className="panel mt-0">
      <ol className="grid grid-cols-1 desk:grid-cols-[auto_minmax(6rem,1fr)_auto_minmax(8rem,1fr)_minmax(12rem,auto)_minmax(23rem,2.4fr)] desk:items-stretch">
        <Stop>
          <strong>Browsers</strong>
          <p className="text-note text-quiet">
            {flow ? formatQuantity(flow.total.received, 'envelope') : UNKNOWN}
          </p>
        </Stop>
        <Edge
          rate={rate}
          tone="text-ink"
          above={<strong>{rate === undefined ? UNKNOWN : format(rate)}</strong>}
        >
          {flow && `${formatBytes(flow.now.counts.bytes / flow.now.seconds)}/s`}
        </Edge>
        <Stop>
          <strong>nginx</strong>
        </Stop>
        <Edge
          rate={rate}
          tone="text-ink"
          above={
            recent.p50 === undefined ? (
              <span className="text-quiet">{flow ? 'no traffic' : UNKNOWN}</span>
            ) : (
              `p50 ${formatDuration(recent.p50 * 1000)}`
            )
          }
        >
          <Slowest durations={recent} />
        </Edge>
        <Replicas replicas={overview.replicas} />
        <li className="desk:self-stretch">
          <ol className="ml-2 grid grid-cols-1 border-l-2 border-line pt-2 desk:m-0 desk:h-full desk:border-0 desk:p-0 desk:grid-cols-[minmax(9rem,1fr)_minmax(13rem,1.2fr)] desk:gap-y-2">
            <Branches overview={overview} numbers={numbers} format={format} />
          </ol>
        </li>
      </ol>
      <p className="mt-3 text-note text-quiet">
        {flow
          ? `Counts of the last ${RECENT.words}. Rates and response times are those of the last one to two minutes. `
          : ''}
        {overview.missing}
      </p>
    </section>
  )
}

type BranchesProps = { overview: OverviewSnapshot; numbers: Numbers; format: FormatRate }

function Branches({ overview, numbers, format }: BranchesProps) {
  const { replicas, upstreams, spools, flow } = overview
  const isResponding = replicas.some(({ state }) => state === 'responding')
  const isInbox = isResponding && upstreams.length === 0
  const sumOf = (read: 'counts' | 'rates') =>
    numbers && NOT_DELIVERED.reduce((sum, outcome) => sum + (numbers[read][outcome] ?? 0), 0)
  return (
    <>
      {isInbox && (
        <OutcomeBranch outcome="delivered" tone="text-good" {...{ numbers, format }}>
          <strong>Inbox</strong>
          <p className="text-note text-quiet">No SENTRY_DSN is set.</p>
        </OutcomeBranch>
      )}
      {upstreams.map((upstream) => (
        <UpstreamBranch key={upstream.name} {...{ upstream, flow, format }} />
      ))}
      {spools.length > 0 && (
        <OutcomeBranch outcome="spooled" tone="text-wait" {...{ numbers, format }}>
          <Spools
            spools={spools}
            deliveredRate={flow ? (flow.now.counts.final_outcomes.delivered ?? 0) / flow.now.seconds : 0}
            format={format}
          />
        </OutcomeBranch>
      )}
      <Edge
        isFork
        rate={sumOf('rates')}
        tone="text-drop"
        above={<NotDeliveredRates {...{ numbers, format }} />}
      />
      <Stop>
        <strong>Not delivered</strong>
        <p className="text-note text-quiet">
          {numbers ? formatQuantity(sumOf('counts') ?? 0, 'envelope') : UNKNOWN}{' '}
          <a href="/console/rejections" className="link inline-flex min-h-6 items-center whitespace-nowrap">
            View reasons
          </a>
        </p>
      </Stop>
    </>
  )
}

type OutcomeBranchProps = {
  outcome: Outcome
  tone: string
  numbers: Numbers
  format: FormatRate
  children: ReactNode
}

function OutcomeBranch({ outcome, tone, numbers, format, children }: OutcomeBranchProps) {
  const rate = numbers && (numbers.rates[outcome] ?? 0)
  const count = numbers && (numbers.counts[outcome] ?? 0)
  return (
    <>
      <Edge isFork rate={rate} tone={tone} above={<OutcomeRate {...{ outcome, rate, count, format }} />} />
      <Stop>{children}</Stop>
    </>
  )
}

function NotDeliveredRates({ numbers, format }: { numbers: Numbers; format: FormatRate }) {
  if (!numbers) return <span className="text-quiet">{UNKNOWN}</span>
  const { rates, counts } = numbers
  const occurring = NOT_DELIVERED.filter((outcome) => (rates[outcome] ?? 0) > 0)
  if (occurring.length === 0) return <span className="text-quiet">none now</span>
  return (
    <span className="inline-grid justify-items-start">
      {occurring.map((outcome) => (
        <OutcomeRate
          key={outcome}
          {...{ outcome, format }}
          rate={rates[outcome] ?? 0}
          count={counts[outcome] ?? 0}
        />
      ))}
    </span>
  )
}

const MAX_REPLICAS = 6

function Replicas({ replicas }: { replicas: ReplicaSummary[] }) {
  const present = replicas.filter(({ state }) => state !== 'stopped')
  const more = present.length - MAX_REPLICAS
  return (
    <Stop isForked>
      <strong>{formatQuantity(present.length, 'replica')}</strong>
      <ul className="mt-1 grid gap-0.5 text-note">
        {present.slice(0, MAX_REPLICAS).map(({ name, origin, state, envelopes }) => (
          <li key={name ?? origin} className="flex items-center gap-1.5">
            <StateMark state={state === 'responding' ? 'good' : 'bad'} className="size-3.5" />
            <span className="wrap-anywhere">{name ?? hostOf(origin)}</span>
            <span className="ml-auto pl-2 whitespace-nowrap text-quiet tabular-nums">
              {state !== 'responding'
                ? 'not responding'
                : envelopes === undefined
                  ? UNKNOWN
                  : formatCount(envelopes)}
            </span>
          </li>
        ))}
        {more > 0 && (
          <li>
            <a href="/console/replicas" className="link inline-flex min-h-6 items-center">
              and {more} more
            </a>
          </li>
        )}
      </ul>
    </Stop>
  )
}

type SpoolsProps = { spools: OverviewSnapshot['spools']; deliveredRate: number; format: FormatRate }

function Spools({ spools, deliveredRate, format }: SpoolsProps) {
  return (
    <>
      <a
        href="/console/spool"
        className="inline-flex min-h-6 items-center font-semibold text-ink no-underline hover:underline"
      >
        Spool
      </a>
      {deliveredRate > 0 && <p className="text-note text-quiet">{format(deliveredRate)} delivered</p>}
      <ul className="text-note">
        {spools.map(({ id, envelopes, writable, paused }) => (
          <li key={id} className="flex items-center gap-1.5 text-quiet tabular-nums">
            <StateMark state={markOf(envelopes, writable)} className="size-3.5" />
            {writable ? (
              <span>
                {describePending(envelopes)}
                {paused.total > 0 && ', delivery paused'}
              </span>
            ) : (
              <span className="text-bad">accepts no envelopes</span>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

function markOf(envelopes: number | undefined, isWritable: boolean): 'bad' | 'wait' | 'good' {
  if (!isWritable || envelopes === undefined) return 'bad'
  return envelopes > 0 ? 'wait' : 'good'
}

function describePending(envelopes: number | undefined): string {
  if (envelopes === undefined) return 'number of pending envelopes unknown'
  return envelopes > 0 ? `${formatCount(envelopes)} pending` : 'none pending'
}

function numbersOf({ total, now: { counts, seconds } }: Flow): NonNullable<Numbers> {
  const recent = Object.entries(sumByName(counts.outcomes))
  return {
    counts: sumByName(total.outcomes),
    rates: Object.fromEntries(recent.map(([outcome, count]) => [outcome, count / seconds])),
  }
}
