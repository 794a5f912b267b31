/** Flow diagram with current rates: from browsers through nginx and the replicas to Sentry, the spool or a rejection. */

import { hostOf } from 'contract/situation/upstreams'
import type { LastUpstreamError } from 'contract/upstream'
import type { ReactNode } from 'react'
import { useNow } from '../../../lib/browser-state.ts'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatQuantity,
  rateUnit,
} from '../../../lib/format.ts'
import { OUTCOME_STATES } from '../../../ui/states.ts'
import { OutcomeLabel, StateMark } from '../../../ui/status-badge.tsx'
import type { Listed } from '../bounds.ts'
import {
  type CountedOutcome,
  type DurationPercentiles,
  percentilesOf,
  sumOutcomes,
} from '../figures/figure-sums.ts'
import { RECENT } from '../figures/range.ts'
import type {
  Flow,
  OverviewSnapshot,
  ReplicaSummary,
  SpoolOverview,
  UpstreamSummary,
} from '../monitor/snapshot.ts'
import { OTHERS } from '../monitor/upstream-groups.ts'
import { countUpstreamErrors, describeUpstreamError } from '../upstream-errors.ts'

/** Outcomes without delivery. */
const NOT_DELIVERED: readonly CountedOutcome[] = [
  ...(['lost', 'deferred', 'rate_limited', 'filtered', 'rejected', 'declined', 'aborted'] as const),
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
  const { replicas, upstreams, spool, flow } = overview
  const isResponding = replicas.some(({ state }) => state === 'responding')
  const isInbox = isResponding && upstreams.length === 0
  const sumOf = (read: 'counts' | 'rates') =>
    numbers && NOT_DELIVERED.reduce((sum, outcome) => sum + (numbers[read][outcome] ?? 0), 0)
  const isLosing = NOT_DELIVERED.some(
    (outcome) => OUTCOME_STATES[outcome] === 'bad' && (numbers?.rates[outcome] ?? 0) > 0,
  )
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
      {spool && (
        <OutcomeBranch outcome="spooled" tone="text-wait" {...{ numbers, format }}>
          <Spool
            spool={spool}
            deliveredRate={flow ? (flow.now.counts.final_outcomes.delivered ?? 0) / flow.now.seconds : 0}
            format={format}
          />
        </OutcomeBranch>
      )}
      <Edge
        isFork
        rate={sumOf('rates')}
        tone={isLosing ? 'text-bad' : 'text-drop'}
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
  outcome: CountedOutcome
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

type SpoolProps = { spool: SpoolOverview; deliveredRate: number; format: FormatRate }

function Spool({ spool: { envelopes, writable, paused }, deliveredRate, format }: SpoolProps) {
  return (
    <>
      <a
        href="/console/spool"
        className="inline-flex min-h-6 items-center font-semibold text-ink no-underline hover:underline"
      >
        Spool
      </a>
      {deliveredRate > 0 && <p className="text-note text-quiet">{format(deliveredRate)} delivered</p>}
      <p className="flex items-center gap-1.5 text-note text-quiet tabular-nums">
        <StateMark state={markOf(envelopes, writable)} className="size-3.5" />
        {writable ? (
          <span>
            {describePending(envelopes)}
            {paused.total > 0 && ', delivery paused'}
          </span>
        ) : (
          <span className="text-bad">accepts no envelopes</span>
        )}
      </p>
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
  const recent = Object.entries(sumOutcomes(counts))
  return {
    counts: sumOutcomes(total),
    rates: Object.fromEntries(recent.map(([outcome, count]) => [outcome, count / seconds])),
  }
}

type UpstreamProps = { upstream: UpstreamSummary; flow: Flow | undefined; format: FormatRate }

function UpstreamBranch({ upstream: { name, hosts, open, limited, error }, flow, format }: UpstreamProps) {
  const count = flow && (flow.total.upstreams[name]?.delivered ?? 0)
  const recent = flow?.now.counts.upstreams[name]
  const rate = flow && (recent?.delivered ?? 0) / flow.now.seconds
  const durations = name === OTHERS ? {} : percentilesOf(recent?.durations ?? {}) // only of a single server
  return (
    <>
      <Edge
        isFork
        rate={rate}
        tone="text-good"
        above={<OutcomeRate outcome="delivered" {...{ rate, count, format }} />}
      >
        {durations.p50 !== undefined && (
          <span className="whitespace-nowrap">p50 {formatDuration(durations.p50 * 1000)}</span>
        )}{' '}
        <Slowest durations={durations} />
      </Edge>
      <Stop>
        <strong>{name === OTHERS ? `${formatCount(hosts)} more Sentry servers` : 'Sentry'}</strong>
        <ul className="text-note">
          {name !== OTHERS && open.total === 0 && <Host name={name} />}
          <OpenBreakers open={open} />
          {error && <ErrorLine host={name} error={error} />}
          {limited > 0 && (
            <li className="flex items-center gap-1.5">
              <StateMark state="hold" className="size-3.5" />
              <a href="#limits" className="link inline-flex min-h-6 items-center">
                {formatCount(limited)} {limited === 1 ? 'category' : 'categories'} rate-limited
              </a>
            </li>
          )}
        </ul>
      </Stop>
    </>
  )
}

function ErrorLine({ host, error }: { host: string; error: LastUpstreamError }) {
  const isInBrowser = useNow() !== undefined // the server does not know the reader's time zone
  const describe = isInBrowser ? countUpstreamErrors : describeUpstreamError
  return <li className="wrap-anywhere text-bad">{describe(host, error)}</li>
}

const MAX_HOSTS = 4

function OpenBreakers({ open: { shown, total } }: { open: Listed<string> }) {
  if (total > MAX_HOSTS)
    return <Host name={formatCount(total)} problem="circuit breakers open: they fail or are slow" />
  return shown.map((host) => (
    <Host key={host} name={host} problem="circuit breaker open: it fails or is slow" />
  ))
}

function Host({ name, problem }: { name: string; problem?: string }) {
  return (
    <li className="flex items-start gap-1.5">
      <StateMark state={problem ? 'bad' : 'good'} className="mt-1 size-3.5" />
      <span className="min-w-0 wrap-anywhere">
        {name}
        {problem && <span className="text-bad"> {problem}</span>}
      </span>
    </li>
  )
}

/** Shown for numbers while the figures are missing. */
const UNKNOWN = 'unknown'

/** Formats a rate in the unit that the whole diagram uses. */
type FormatRate = (perSecond: number) => string

/** `isForked`: as tall as all of its branches. */
function Stop({ isForked, children }: { isForked?: true; children: ReactNode }) {
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
function Edge({ rate = 0, tone, above, isFork, children }: EdgeProps) {
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
function Slowest({ durations: { p95, p99 } }: { durations: DurationPercentiles }) {
  if (p95 === undefined || p99 === undefined) return null
  return (
    <>
      <span className="whitespace-nowrap">p95 {formatDuration(p95 * 1000)}</span>{' '}
      <span className="whitespace-nowrap">p99 {formatDuration(p99 * 1000)}</span>
    </>
  )
}

type OutcomeRateProps = {
  outcome: CountedOutcome
  /** Absent, like the number, while the figures are missing. */
  rate: number | undefined
  count: number | undefined
  format: FormatRate
}

/** Current rate of an outcome; without one, the number of the last 15 minutes. */
function OutcomeRate({ outcome, rate = 0, count, format }: OutcomeRateProps) {
  const total = count === undefined ? UNKNOWN : count > 0 ? formatCount(count) : 'none'
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <OutcomeLabel outcome={outcome} count={rate > 0 ? undefined : count} />{' '}
      {rate > 0 ? format(rate) : total}
    </span>
  )
}
