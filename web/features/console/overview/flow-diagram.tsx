/** Flow diagram with current rates: from browsers through nginx and the replicas to Sentry, the spool or a rejection. */

import type { Outcome } from 'tunnel/contract'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatQuantity,
  rateUnit,
} from '../../../lib/format.ts'
import { StateMark } from '../../../ui/status-badge.tsx'
import { rateNow } from '../monitor/rates.ts'
import { hostOf } from '../monitor/replica-metrics.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import type { OverviewSnapshot, ReplicaSummary } from '../monitor/snapshot.ts'
import { OUTCOMES } from '../outcomes.ts'
import { Edge, type FormatRate, OutcomeRate, Stop } from './flow-diagram-parts.tsx'
import { UpstreamStop } from './flow-diagram-upstream.tsx'

/** Outcomes without delivery. */
const STOPPED: readonly Outcome[] = ['rate_limited', 'filtered', 'rejected', 'declined', 'aborted']

export function FlowDiagram({ glance, points }: { glance: OverviewSnapshot; points: Point[] }) {
  const { replicas, ways, spools, point } = glance
  const rates = ratesNow(points)
  const { per, seconds } = rateUnit(rates.envelopes)
  const format: FormatRate = (perSecond) => `${formatNumber(perSecond * seconds)}${per}`
  const took = points.slice(-8).findLast(({ p50 }) => p50 !== undefined)
  const isAnswered = replicas.some(({ state }) => state === 'answering')
  const isInbox = isAnswered && ways.length === 0 && spools.length === 0
  return (
    <section
      aria-label="Envelope flow"
      className="mt-0 rounded-card border border-line bg-surface p-4 wide:p-5"
    >
      <ol className="grid grid-cols-1 desk:grid-cols-[auto_minmax(6rem,1fr)_auto_minmax(8rem,1fr)_minmax(12rem,auto)_minmax(23rem,2.4fr)] desk:items-stretch">
        <Stop>
          <strong>Browsers</strong>
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
            took?.p50 === undefined ? (
              <span className="text-quiet">no traffic</span>
            ) : (
              `p50 ${formatDuration(took.p50 * 1000)}`
            )
          }
        >
          {took?.p95 !== undefined && `p95 ${formatDuration(took.p95 * 1000)}`}
        </Edge>
        <Replicas replicas={replicas} format={format} />
        <li className="desk:self-stretch">
          <ol className="ml-2 grid grid-cols-1 border-l-2 border-line pt-2 desk:m-0 desk:h-full desk:border-0 desk:p-0 desk:grid-cols-[minmax(9rem,1fr)_minmax(13rem,1.2fr)] desk:gap-y-2">
            {isInbox && (
              <>
                <Edge
                  isFork
                  rate={rates.answers.delivered ?? 0}
                  tone="text-good"
                  above={
                    <OutcomeRate outcome="delivered" rate={rates.answers.delivered ?? 0} format={format} />
                  }
                />
                <Stop>
                  <strong>Inbox</strong>
                  <p className="text-note text-quiet">No SENTRY_DSN is set.</p>
                </Stop>
              </>
            )}
            {ways.map((way) => (
              <UpstreamStop key={way.name} way={way} points={points} format={format} />
            ))}
            {spools.length > 0 && (
              <>
                <Edge
                  isFork
                  rate={rates.answers.spooled ?? 0}
                  tone="text-wait"
                  above={<OutcomeRate outcome="spooled" rate={rates.answers.spooled ?? 0} format={format} />}
                />
                <SpoolStop spools={spools} later={rates.later} format={format} />
              </>
            )}
            <Edge
              isFork
              rate={STOPPED.reduce((sum, outcome) => sum + (rates.answers[outcome] ?? 0), 0)}
              tone="text-drop"
              above={<StoppedRates rates={rates.answers} format={format} />}
            />
            <Stop>
              <strong>Not delivered</strong>
              <p className="text-note text-quiet">
                {formatCount(stoppedIn(point.answers))} rejected or filtered ·{' '}
                <a href="/console/rejections" className="link">
                  View reasons
                </a>
              </p>
            </Stop>
          </ol>
        </li>
      </ol>
    </section>
  )
}

function StoppedRates({ rates, format }: { rates: Rates['answers']; format: FormatRate }) {
  const some = STOPPED.filter((outcome) => (rates[outcome] ?? 0) > 0)
  if (some.length === 0) return <span className="text-quiet">none</span>
  return (
    <span className="inline-grid justify-items-start">
      {some.map((outcome) => (
        <OutcomeRate key={outcome} outcome={outcome} rate={rates[outcome] ?? 0} format={format} />
      ))}
    </span>
  )
}

const MOST_REPLICAS = 6

function Replicas({ replicas, format }: { replicas: ReplicaSummary[]; format: FormatRate }) {
  const present = replicas.filter(({ state }) => state !== 'ended')
  const more = present.length - MOST_REPLICAS
  return (
    <Stop isForked>
      <strong>{formatQuantity(present.length, 'replica')}</strong>
      <ul className="mt-1 grid gap-0.5 text-note">
        {present.slice(0, MOST_REPLICAS).map(({ name, origin, state, rate }) => (
          <li key={name ?? origin} className="flex items-center gap-1.5">
            <StateMark state={state === 'answering' ? 'good' : 'bad'} className="size-3.5" />
            <span className="wrap-anywhere">{name ?? hostOf(origin)}</span>
            <span className="ml-auto pl-2 whitespace-nowrap text-quiet tabular-nums">
              {state === 'answering' ? format(rate) : 'not responding'}
            </span>
          </li>
        ))}
        {more > 0 && (
          <li>
            <a href="/console/replicas" className="link">
              and {more} more
            </a>
          </li>
        )}
      </ul>
    </Stop>
  )
}

function SpoolStop({
  spools,
  later,
  format,
}: {
  spools: OverviewSnapshot['spools']
  later: number
  format: FormatRate
}) {
  return (
    <Stop>
      <a href="/console/spool" className="font-semibold text-ink no-underline hover:underline">
        Spool
      </a>
      <ul className="text-note">
        {spools.map(({ id, envelopes = 0, writable, paused }) => (
          <li key={id} className="flex items-center gap-1.5 text-quiet tabular-nums">
            <StateMark state={writable ? (envelopes > 0 ? 'wait' : 'good') : 'bad'} className="size-3.5" />
            {writable ? (
              <span>
                {envelopes > 0 ? `${formatCount(envelopes)} pending` : 'none pending'}
                {paused.all > 0 && ', delivery paused'}
                {later > 0 && `, ${format(later)} delivered`}
              </span>
            ) : (
              <span className="text-bad">accepts no envelopes</span>
            )}
          </li>
        ))}
      </ul>
    </Stop>
  )
}

type Rates = ReturnType<typeof ratesNow>

/** Returns the current rates per second. */
function ratesNow(points: Point[]) {
  const answers: Partial<Record<Outcome, number>> = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, rateNow(points, (point) => point.answers[outcome] ?? 0)]),
  )
  return {
    answers,
    envelopes: Object.values(answers).reduce((sum, rate) => sum + rate, 0),
    bytes: rateNow(points, ({ bytes }) => bytes),
    later: rateNow(points, ({ ends }) => ends.delivered ?? 0),
  }
}

function stoppedIn(answers: Point['answers']): number {
  return STOPPED.reduce((sum, outcome) => sum + (answers[outcome] ?? 0), 0)
}
