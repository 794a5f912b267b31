/** The way of an envelope as it is just now, what the last quarter of an hour was like, and what stands in the way. */
'use client'

import type { LimitInForce } from 'tunnel/contract'
import { useLive } from '../../lib/console/use-live.ts'
import { useNow } from '../../lib/console/use-now.ts'
import type { Change, Point, Snapshot } from '../../lib/console/watch.ts'
import { sayClock } from '../../lib/console/words.ts'
import { Badge } from '../state.tsx'
import { Ago, In } from './ago.tsx'
import { AnswerTimeChart, CategoryChart, FateChart, ItemTypes, WaitingChart } from './charts.tsx'
import { FatesTable } from './fates-table.tsx'
import { LiveMark } from './live-mark.tsx'
import { LiveWay } from './live-way.tsx'
import { Notices } from './notices.tsx'
import { Empty, Panel, Tools } from './panel.tsx'
import { SpoolFacts } from './spool-facts.tsx'

export function Overview({ first, past }: { first: Snapshot; past: Point[] }) {
  const { snapshot, points, state } = useLive(first, past)
  const hasSpool = snapshot.spools.length > 0
  return (
    <div className="grid grid-cols-1 gap-4">
      <Tools>
        <LiveMark state={state} />
      </Tools>
      <Notices snapshot={snapshot} />
      <LiveWay snapshot={snapshot} points={points} />
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-[2fr_1fr]">
        <Panel title="The last 15 minutes">
          <div className="grid grid-cols-1 gap-x-8 gap-y-5 wide:grid-cols-2">
            <div className="min-w-0 wide:col-span-2">
              <FateChart points={points} />
            </div>
            <div className="min-w-0 wide:col-span-2">
              <CategoryChart points={points} />
            </div>
            <div className={hasSpool ? 'min-w-0' : 'min-w-0 wide:col-span-2'}>
              <AnswerTimeChart points={points} />
            </div>
            {hasSpool && <WaitingChart points={points} />}
          </div>
        </Panel>
        <div className="grid grid-cols-1 content-start gap-4">
          <FatesTable snapshot={snapshot} />
          {snapshot.upstreams.length > 0 && <HeldBack snapshot={snapshot} />}
        </div>
      </div>
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-[2fr_1fr] desk:items-start">
        <ItemTypes points={points} />
        <div className="grid grid-cols-1 gap-4">
          {hasSpool && <Spools snapshot={snapshot} />}
          <Changes changes={snapshot.changes} />
        </div>
      </div>
    </div>
  )
}

function Spools({ snapshot: { spools } }: { snapshot: Snapshot }) {
  return (
    <Panel
      title="Spool"
      note={
        <a href="/console/spool" className="link">
          What waits
        </a>
      }
    >
      {spools.map((spool) => (
        <SpoolFacts key={spool.id} spool={spool} />
      ))}
    </Panel>
  )
}

function HeldBack({ snapshot: { limits, upstreams } }: { snapshot: Snapshot }) {
  const open = upstreams.filter((upstream) => upstream.open.length > 0)
  return (
    <Panel title="Held back" id="held-back">
      {limits.length === 0 && open.length === 0 && (
        <Empty>Nothing: Sentry asks for no limit, and every upstream is asked.</Empty>
      )}
      <ul className="grid gap-2 text-note">
        {open.map(({ origin, open: by, closed, since, nextProbe }) => (
          <li key={origin}>
            <Badge state="bad">not asked</Badge>{' '}
            <span className="wrap-anywhere">
              {origin}: it fails or is slow, by {by.length} of {by.length + closed.length} replicas
              {since !== undefined && (
                <>
                  , since <Ago time={since} />
                </>
              )}
              . Envelopes go to the spool
              {nextProbe !== undefined && (
                <>
                  ; it is tried again <In time={nextProbe} />
                </>
              )}
              .
            </span>
          </li>
        ))}
        {limits.map((limit) => (
          <LimitLine key={`${limit.project} ${limit.category}`} limit={limit} />
        ))}
      </ul>
    </Panel>
  )
}

function LimitLine({ limit: { project, category, until } }: { limit: LimitInForce }) {
  return (
    <li>
      <Badge state="hold">limited</Badge> <span className="wrap-anywhere">{category}</span> of{' '}
      <span className="wrap-anywhere">{project}</span>, free again <In time={until} />
    </li>
  )
}

function Changes({ changes }: { changes: Change[] }) {
  const isThere = useNow() !== undefined
  return (
    <Panel title="What changed">
      {changes.length === 0 && <Empty>Nothing yet.</Empty>}
      <ol
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        tabIndex={0}
        className="grid max-h-64 gap-1 overflow-y-auto text-note"
        aria-label="Changes, newest first"
      >
        {changes.map(({ time, text }) => (
          <li key={`${time} ${text}`} className="grid grid-cols-[4.5rem_1fr] gap-2">
            <time dateTime={new Date(time).toISOString()} className="text-quiet tabular-nums">
              {isThere && sayClock(time)}
            </time>
            <span className="wrap-anywhere">{text}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
