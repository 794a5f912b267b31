/** Overview: current flow, charts of the last 15 minutes, outcomes, rate limits, spool and recent changes. */
'use client'

import type { LimitInForce } from 'tunnel/contract'
import { formatCount, formatTime } from '../../../lib/format.ts'
import { useNow } from '../../../lib/use-now.ts'
import { Empty, Panel, Tools } from '../../../ui/panel.tsx'
import { Ago, In } from '../../../ui/relative-time.tsx'
import { Badge } from '../../../ui/status-badge.tsx'
import { LiveIndicator } from '../live-indicator.tsx'
import type { Change, Point } from '../monitor/replica-monitor.ts'
import type { Few, NotAsked, OverviewSnapshot } from '../monitor/snapshot.ts'
import { useLive } from '../monitor/use-snapshot.ts'
import { Notices } from '../notices.tsx'
import { SpoolSummary } from '../spool/spool-summary.tsx'
import { CategoryChart, DurationChart, ItemTypes, OutcomeChart, PendingChart } from './charts.tsx'
import { FlowDiagram } from './flow-diagram.tsx'
import { OutcomesTable } from './outcomes-table.tsx'

export function Overview({ first, past }: { first: OverviewSnapshot; past: Point[] }) {
  const { glance, points, state } = useLive(first, past)
  const hasSpool = glance.spools.length > 0
  return (
    <div className="grid grid-cols-1 gap-4">
      <Tools>
        <LiveIndicator state={state} />
      </Tools>
      <Notices replicas={glance.replicas} />
      <FlowDiagram glance={glance} points={points} />
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-[minmax(0,2fr)_minmax(0,1fr)] desk:items-start">
        <div className="contents desk:grid desk:grid-cols-1 desk:gap-4">
          <Panel title="Last 15 minutes">
            <div className="grid grid-cols-1 gap-x-8 gap-y-5 wide:grid-cols-2">
              <div className="min-w-0 wide:col-span-2">
                <OutcomeChart points={points} />
              </div>
              <div className="min-w-0 wide:col-span-2">
                <CategoryChart points={points} />
              </div>
              <div className={hasSpool ? 'min-w-0' : 'min-w-0 wide:col-span-2'}>
                <DurationChart points={points} />
              </div>
              {hasSpool && <PendingChart points={points} />}
            </div>
          </Panel>
          <div className="order-last desk:order-none">
            <ItemTypes points={points} />
          </div>
        </div>
        <div className="contents desk:grid desk:grid-cols-1 desk:gap-4">
          <OutcomesTable glance={glance} />
          {glance.ways.length > 0 && <HeldBack glance={glance} />}
          {hasSpool && <Spools spools={glance.spools} />}
          <Changes changes={glance.changes} />
        </div>
      </div>
    </div>
  )
}

function Spools({ spools }: Pick<OverviewSnapshot, 'spools'>) {
  return (
    <Panel
      title="Spool"
      note={
        <a href="/console/spool" className="link">
          Pending envelopes
        </a>
      }
    >
      {spools.map((spool) => (
        <SpoolSummary key={spool.id} spool={spool} />
      ))}
    </Panel>
  )
}

function HeldBack({ glance: { limits, notAsked } }: { glance: OverviewSnapshot }) {
  return (
    <Panel title="Rate limits and circuit breakers" id="held-back">
      {limits.all === 0 && notAsked.all === 0 && (
        <Empty>No rate limits, and all circuit breakers are closed.</Empty>
      )}
      <ul className="grid gap-2 text-note">
        {notAsked.first.map((upstream) => (
          <NotAskedLine key={upstream.origin} upstream={upstream} />
        ))}
        <More of={notAsked} what="open" />
        {limits.first.map((limit) => (
          <LimitLine key={`${limit.project} ${limit.category}`} limit={limit} />
        ))}
        <More of={limits} what="rate-limited" />
      </ul>
    </Panel>
  )
}

function NotAskedLine({ upstream: { origin, by, of, since, nextProbe } }: { upstream: NotAsked }) {
  return (
    <li>
      <Badge state="bad">breaker open</Badge>{' '}
      <span className="wrap-anywhere">
        {origin}: it fails or is slow, on {by} of {of} replicas
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

function More({ of, what }: { of: Few<unknown>; what: string }) {
  const more = of.all - of.first.length
  if (more === 0) return null
  return (
    <li>
      <a href="/console/projects" className="link">
        and {formatCount(more)} more {what}
      </a>
    </li>
  )
}

function LimitLine({ limit: { project, category, until } }: { limit: LimitInForce }) {
  return (
    <li>
      <Badge state="hold">rate-limited</Badge> <span className="wrap-anywhere">{category}</span> of{' '}
      <span className="wrap-anywhere">{project}</span>, ends <In time={until} />
    </li>
  )
}

function Changes({ changes }: { changes: Change[] }) {
  const isThere = useNow() !== undefined
  return (
    <Panel title="Recent changes">
      {changes.length === 0 && <Empty>No changes yet.</Empty>}
      <ol
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        tabIndex={0}
        className="grid max-h-64 gap-1 overflow-y-auto text-note"
        aria-label="Changes, newest first"
      >
        {changes.map(({ time, text }) => (
          <li key={`${time} ${text}`} className="grid grid-cols-[4.5rem_1fr] gap-2">
            <time dateTime={new Date(time).toISOString()} className="text-quiet tabular-nums">
              {isThere && formatTime(time)}
            </time>
            <span className="wrap-anywhere">{text}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
