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
import { hostOf } from '../monitor/figures.ts'
import { rateNow } from '../monitor/rates.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import type { OverviewSnapshot, ReplicaSummary } from '../monitor/snapshot.ts'
import { OUTCOMES } from '../outcomes.ts'
import { Edge, type FormatRate, OutcomeRate, Slowest, Stop } from './flow-diagram-parts.tsx'
import { UpstreamBranch } from './flow-diagram-upstream.tsx'

/** Outcomes without delivery. */
const NOT_DELIVERED: readonly Outcome[] = [
  ...(['deferred', 'rate_limited', 'filtered', 'rejected', 'declined', 'aborted'] as const),
]

export function FlowDiagram({ overview, points }: { overview: OverviewSnapshot; points: Point[] }) {
  const rates = ratesNow(points)
  const { per, seconds } = rateUnit(rates.envelopes)
  const format: FormatRate = (perSecond) => `${formatNumber(perSecond * seconds)}${per}`
  const recent = points.slice(-8).findLast(({ p50 }) => p50 !== undefined)
  return (
    <section aria-label="Envelope flow" className="panel mt-0">
      <ol className="grid grid-cols-1 desk:grid-cols-[auto_minmax(6rem,1fr)_auto_minmax(8rem,1fr)_minmax(12rem,auto)_minmax(23rem,2.4fr)] desk:items-stretch">
        <Stop>
          <strong>Browsers</strong>
          <p className="text-note text-quiet">
            {formatQuantity(
              Object.values(overview.point.outcomes).reduce((sum, count) => sum + count, 0),
              'envelope',
            )}
          </p>
        </Stop>
        <Edge rate={rates.envelopes} tone="text-ink" above={<strong>{format(rates.envelopes)}</strong>}>
          {formatBytes(rates.bytes)}/s
        </Edge>
        <Stop>
          <strong>nginx</strong>
        </Stop>
        <Edge
          rate={rates.envelopes}
          tone="text-ink"
          above={
            recent?.p50 === undefined ? (
              <span className="text-quiet">no traffic</span>
            ) : (
              `p50 ${formatDuration(recent.p50 * 1000)}`
            )
          }
        >
          <Slowest point={recent} />
        </Edge>
        <Replicas replicas={overview.replicas} format={format} />
        <li className="desk:self-stretch">
          <ol className="ml-2 grid grid-cols-1 border-l-2 border-line pt-2 desk:m-0 desk:h-full desk:border-0 desk:p-0 desk:grid-cols-[minmax(9rem,1fr)_minmax(13rem,1.2fr)] desk:gap-y-2">
            <Branches overview={overview} points={points} rates={rates} format={format} />
          </ol>
        </li>
      </ol>
    </section>
  )
}

type BranchesProps = {
  overview: OverviewSnapshot
  points: Point[]
  rates: Rates
  format: FormatRate
}

function Branches({ overview, points, rates, format }: BranchesProps) {
  const { replicas, upstreams, spools, simulatedOutage, point } = overview
  const isResponding = replicas.some(({ state }) => state === 'responding')
  const isInbox = isResponding && upstreams.length === 0 && spools.length === 0
  return (
    <>
      {isInbox && (
        <OutcomeBranch outcome="delivered" tone="text-good" {...{ point, rates, format }}>
          <strong>Inbox</strong>
          <p className="text-note text-quiet">No SENTRY_DSN is set.</p>
        </OutcomeBranch>
      )}
      {upstreams.map((upstream) => (
        <UpstreamBranch key={upstream.name} upstream={upstream} points={points} format={format} />
      ))}
      {spools.length > 0 && (
        <OutcomeBranch outcome="spooled" tone="text-wait" {...{ point, rates, format }}>
          <Spools spools={spools} deliveredRate={rates.deliveredLater} format={format} />
        </OutcomeBranch>
      )}
      {simulatedOutage && (
        <OutcomeBranch outcome="spooled" tone="text-wait" {...{ point, rates, format }}>
          <strong>Spool</strong>
          <p className="text-note text-quiet tabular-nums">
            {formatCount(simulatedOutage.pending)} pending in a simulated outage
          </p>
        </OutcomeBranch>
      )}
      <Edge
        isFork
        rate={NOT_DELIVERED.reduce((sum, outcome) => sum + (rates.outcomes[outcome] ?? 0), 0)}
        tone="text-drop"
        above={<NotDeliveredRates {...{ point, rates, format }} />}
      />
      <Stop>
        <strong>Not delivered</strong>
        <p className="text-note text-quiet">
          {formatQuantity(
            NOT_DELIVERED.reduce((sum, outcome) => sum + (point.outcomes[outcome] ?? 0), 0),
            'envelope',
          )}{' '}
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
  point: Point
  rates: Rates
  format: FormatRate
  children: ReactNode
}

function OutcomeBranch({ outcome, tone, point, rates, format, children }: OutcomeBranchProps) {
  const rate = rates.outcomes[outcome] ?? 0
  return (
    <>
      <Edge
        isFork
        rate={rate}
        tone={tone}
        above={<OutcomeRate {...{ outcome, rate, format }} count={point.outcomes[outcome] ?? 0} />}
      />
      <Stop>{children}</Stop>
    </>
  )
}

type NotDeliveredProps = { point: Point; rates: Rates; format: FormatRate }

function NotDeliveredRates({ point, rates: { outcomes }, format }: NotDeliveredProps) {
  const occurring = NOT_DELIVERED.filter((outcome) => (outcomes[outcome] ?? 0) > 0)
  if (occurring.length === 0) return <span className="text-quiet">none now</span>
  return (
    <span className="inline-grid justify-items-start">
      {occurring.map((outcome) => (
        <OutcomeRate
          key={outcome}
          {...{ outcome, format }}
          rate={outcomes[outcome] ?? 0}
          count={point.outcomes[outcome] ?? 0}
        />
      ))}
    </span>
  )
}

const MAX_REPLICAS = 6

function Replicas({ replicas, format }: { replicas: ReplicaSummary[]; format: FormatRate }) {
  const present = replicas.filter(({ state }) => state !== 'stopped')
  const more = present.length - MAX_REPLICAS
  return (
    <Stop isForked>
      <strong>{formatQuantity(present.length, 'replica')}</strong>
      <ul className="mt-1 grid gap-0.5 text-note">
        {present.slice(0, MAX_REPLICAS).map(({ name, origin, state, rate }) => (
          <li key={name ?? origin} className="flex items-center gap-1.5">
            <StateMark state={state === 'responding' ? 'good' : 'bad'} className="size-3.5" />
            <span className="wrap-anywhere">{name ?? hostOf(origin)}</span>
            <span className="ml-auto pl-2 whitespace-nowrap text-quiet tabular-nums">
              {state === 'responding' ? format(rate) : 'not responding'}
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
      <ul className="text-note">
        {spools.map(({ id, envelopes = 0, writable, paused }) => (
          <li key={id} className="flex items-center gap-1.5 text-quiet tabular-nums">
            <StateMark state={writable ? (envelopes > 0 ? 'wait' : 'good') : 'bad'} className="size-3.5" />
            {writable ? (
              <span>
                {envelopes > 0 ? `${formatCount(envelopes)} pending` : 'none pending'}
                {paused.total > 0 && ', delivery paused'}
                {deliveredRate > 0 && `, ${format(deliveredRate)} delivered`}
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

type Rates = ReturnType<typeof ratesNow>

/** Returns the current rates per second. */
function ratesNow(points: Point[]) {
  const outcomes: Partial<Record<Outcome, number>> = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, rateNow(points, (point) => point.outcomes[outcome] ?? 0)]),
  )
  return {
    outcomes,
    envelopes: Object.values(outcomes).reduce((sum, rate) => sum + rate, 0),
    bytes: rateNow(points, ({ bytes }) => bytes),
    deliveredLater: rateNow(points, ({ finalOutcomes }) => finalOutcomes.delivered ?? 0),
  }
}
