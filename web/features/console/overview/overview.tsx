/** Overview: status, current flow and charts of a time range; folded below: outcomes, item types, spool, rate limits and recent changes. */
'use client'

import { categoryLabel } from 'contract/categories'
import { hostOf } from 'contract/situation/upstreams'
import type { LimitInForce } from 'contract/upstream'
import { useNow } from '../../../lib/browser-state.ts'
import { formatCount, formatQuantity, formatTime } from '../../../lib/format.ts'
import { Empty, Fold, Panel, Tools } from '../../../ui/panel.tsx'
import { Ago, In } from '../../../ui/relative-time.tsx'
import { Badge } from '../../../ui/status-badge.tsx'
import type { Listed } from '../bounds.ts'
import type { LiveView } from '../figures/live-view.ts'
import { readRange } from '../figures/range.ts'
import { LiveIndicator, useLive } from '../live-data.tsx'
import type { Change } from '../monitor/replica-monitor.ts'
import type { OpenBreaker, OverviewSnapshot, SpoolOverview } from '../monitor/snapshot.ts'
import { Notices } from '../notices.tsx'
import { SETUP } from '../routes.ts'
import { SpoolSummary } from '../spool/spool-summary.tsx'
import { describeUpstreamError } from '../upstream-errors.ts'
import { FlowDiagram } from './flow-diagram.tsx'
import { RangeCharts } from './range-charts.tsx'
import { ItemTypes, OutcomesTable } from './range-tables.tsx'
import { ReachOff, ReachPanel } from './reach-panel.tsx'
import { estimateReach } from './results.ts'
import { Incidents, StatusBanner } from './status-banner.tsx'

type Props = {
  first: LiveView
  /** State of the reach test of browsers. Absent in inbox mode. */
  reachTest: 'on' | 'off' | undefined
}

export function Overview({ first, reachTest }: Props) {
  const { overview, figures, missing, state } = useLive(first)
  const range = readRange(first.range)
  const { spool, upstreams, changes, week, flow } = overview
  const hasPending = spool !== undefined || figures?.points.some(({ pending }) => pending > 0) === true
  return (
    <div className="grid grid-cols-1 gap-4">
      <StatusBanner overview={overview} stream={state} />
      <Tools>
        <LiveIndicator state={state} />
      </Tools>
      <Notices {...overview} />
      {isUnused(overview) && <FirstStep />}
      <FlowDiagram overview={overview} />
      <RangeCharts {...{ range, figures, missing, hasPending }} />
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
        {figures && (
          <OutcomesTable
            figures={figures}
            note={missing === undefined ? `last ${range.words}` : `last ${range.words}, incomplete`}
          />
        )}
        {figures && <ItemTypes figures={figures} now={flow?.now} range={range} />}
        {spool && <Spool spool={spool} />}
        {upstreams.length > 0 && <LimitsAndBreakers overview={overview} />}
        <Incidents incidents={overview.situation.incidents} time={overview.time} />
        <Changes changes={changes} />
        {reachTest === 'on' && week.reach && (
          <ReachPanel reach={estimateReach(week.reach, week.browser_errors ?? 0)} />
        )}
        {reachTest === 'off' && <ReachOff deployment={overview.situation.deployment} />}
      </div>
    </div>
  )
}

/** Reports whether no envelope has arrived within 7 days, as far as the figures are complete. */
function isUnused({ week: { received, missing } }: OverviewSnapshot): boolean {
  return received === 0 && missing === undefined
}

function FirstStep() {
  return (
    <Panel title="No envelope has arrived yet">
      <p className="text-note">
        <a href={SETUP} className="link">
          Set up your site
        </a>{' '}
        in three steps: choose where reports go, copy the code, and watch the first envelope arrive.
      </p>
    </Panel>
  )
}

function Spool({ spool }: { spool: SpoolOverview }) {
  return (
    <Fold title="Spool">
      <SpoolSummary spool={spool} />
      <a href="/console/spool" className="link-block mt-2 text-note">
        Pending envelopes
      </a>
    </Fold>
  )
}

function LimitsAndBreakers({ overview: { limits, openBreakers } }: { overview: OverviewSnapshot }) {
  const held = limits.total + openBreakers.total
  return (
    <Fold
      title="Rate limits and circuit breakers"
      id="limits"
      {...(held > 0 && { isOpen: true, note: formatCount(held) })}
    >
      {limits.total === 0 && openBreakers.total === 0 && (
        <Empty>No rate limits, and all circuit breakers are closed.</Empty>
      )}
      <ul className="grid gap-2 text-note">
        {openBreakers.shown.map((breaker) => (
          <BreakerLine key={breaker.origin} breaker={breaker} />
        ))}
        <More of={openBreakers} one="open circuit breaker" />
        {limits.shown.map((limit) => (
          <LimitLine key={`${limit.project} ${limit.category}`} limit={limit} />
        ))}
        <More of={limits} one="rate limit" href="/console/projects" />
      </ul>
    </Fold>
  )
}

function BreakerLine({ breaker: { origin, by, of, since, nextProbe, error } }: { breaker: OpenBreaker }) {
  return (
    <li>
      <Badge state="bad">breaker open</Badge>{' '}
      <span className="wrap-anywhere">
        {origin}: {error ? describeUpstreamError(hostOf(origin), error) : 'it fails or is slow'}, on {by} of{' '}
        {of} replicas
        {since !== undefined && (
          <>
            , since <Ago time={since} />
          </>
        )}
        . Envelopes go to the spool
        {nextProbe !== undefined && (
          <>
            ; next attempt <In time={nextProbe} />
          </>
        )}
        .
      </span>
    </li>
  )
}

type MoreProps = { of: Listed<unknown>; one: string; href?: string }

function More({ of: { shown, total }, one, href }: MoreProps) {
  if (total === shown.length) return null
  const text = `and ${formatQuantity(total - shown.length, `more ${one}`)}`
  return (
    <li>
      {href ? (
        <a href={href} className="link inline-flex min-h-6 items-center">
          {text}
        </a>
      ) : (
        text
      )}
    </li>
  )
}

function LimitLine({ limit: { project, category, until, standing } }: { limit: LimitInForce }) {
  return (
    <li>
      {!standing && <Badge state="hold">rate-limited</Badge>}{' '}
      <span className="wrap-anywhere">{categoryLabel(category)}</span> of{' '}
      <span className="wrap-anywhere">{project}</span>
      {standing ? (
        ': the server does not store it'
      ) : (
        <>
          , ends <In time={until} />
        </>
      )}
    </li>
  )
}

function Changes({ changes }: { changes: Change[] }) {
  const isInBrowser = useNow() !== undefined // the server does not know the reader's time zone
  return (
    <Fold title="Recent changes" note={formatCount(changes.length)}>
      {changes.length === 0 && (
        <Empty>No changes yet. Outages, restarts of replicas and actions of operators appear here.</Empty>
      )}
      <ol
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area has to be reachable by keyboard
        tabIndex={0}
        className="grid max-h-64 gap-1 overflow-y-auto text-note"
        aria-label="Changes, newest first"
      >
        {changes.map(({ time, text }) => (
          <li key={`${time} ${text}`} className="grid grid-cols-[4.5rem_1fr] gap-2">
            <time dateTime={new Date(time).toISOString()} className="text-quiet tabular-nums">
              {isInBrowser && formatTime(time)}
            </time>
            <span className="wrap-anywhere">{text}</span>
          </li>
        ))}
      </ol>
    </Fold>
  )
}
