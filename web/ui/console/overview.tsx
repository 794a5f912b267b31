/** The way of an envelope as it is just now, what the last quarter of an hour was like, and what stands in the way. */
'use client'

import type { LimitInForce } from 'tunnel/contract'
import { ANSWERS, ENDS, MEANINGS } from '../../lib/console/fates.ts'
import { countBy } from '../../lib/console/figures.ts'
import { useLive } from '../../lib/console/use-live.ts'
import { useNow } from '../../lib/console/use-now.ts'
import type { Change, Point, Snapshot } from '../../lib/console/watch.ts'
import { sayClock, sayCount, sayDuration, sayRate, sayShare } from '../../lib/console/words.ts'
import type { State } from '../../lib/state.ts'
import { FateBadge } from '../fate.tsx'
import { Badge, StateMark } from '../state.tsx'
import { Ago, In } from './ago.tsx'
import { Chart, type Line } from './chart.tsx'
import { LiveMark } from './live-mark.tsx'
import { LiveWay } from './live-way.tsx'
import { Empty, Panel } from './panel.tsx'
import { SpoolFacts } from './spool-facts.tsx'

export function Overview({ first, past }: { first: Snapshot; past: Point[] }) {
  const { snapshot, points, state } = useLive(first, past)
  return (
    <div className="grid grid-cols-1 gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <LiveMark state={state} />
        <Silent snapshot={snapshot} />
      </div>
      <LiveWay snapshot={snapshot} points={points} />
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-[2fr_1fr]">
        <Charts points={points} />
        <Fates snapshot={snapshot} />
      </div>
      <div className="grid grid-cols-1 gap-4 desk:grid-cols-3">
        <Spools snapshot={snapshot} />
        <HeldBack snapshot={snapshot} />
        <Changes changes={snapshot.changes} />
      </div>
    </div>
  )
}

/** Figures that some replicas did not give are said to be short of them. */
function Silent({ snapshot: { replicas } }: { snapshot: Snapshot }) {
  const silent = replicas.filter(({ state }) => state === 'silent')
  if (replicas.length === 0)
    return <Trouble>No tunnel is known: set TUNNEL_ADMIN for web to where their admin ports are.</Trouble>
  if (silent.length === 0) return null
  const names = silent.map(({ name, origin }) => name ?? origin)
  return (
    <Trouble>
      {names.length === 1 ? `${names[0]} does` : `${names.length} replicas do`} not answer; counted as last
      heard.
    </Trouble>
  )
}

function Trouble({ children }: { children: React.ReactNode }) {
  return (
    <p role="status" className="flex items-center gap-2 text-note text-bad">
      <StateMark state="bad" /> <span>{children}</span>
    </p>
  )
}

const LOOKS: Record<string, { state: State; dash?: number[] }> = {
  delivered: { state: 'good' },
  spooled: { state: 'wait', dash: [8, 4] },
  limited: { state: 'hold', dash: [4, 4] },
  filtered: { state: 'drop', dash: [2, 3] },
  refused: { state: 'bad' },
  declined: { state: 'bad', dash: [8, 4] },
  aborted: { state: 'bad', dash: [2, 3] },
}

const STYLES: { state: State; dash?: number[] }[] = [
  { state: 'good' },
  { state: 'wait', dash: [8, 4] },
  { state: 'hold', dash: [4, 4] },
  { state: 'bad', dash: [2, 3] },
  { state: 'drop' },
]

function Charts({ points }: { points: Point[] }) {
  const times = points.slice(1).map(({ time }) => time / 1000)
  const answered: Line[] = ANSWERS.map((answer) => ({
    label: answer,
    ...(LOOKS[answer] ?? { state: 'idle' }),
    values: ratesOf(points, ({ answers }) => answers[answer] ?? 0),
  }))
  const types = busiest(points.at(-1)?.items ?? {}, STYLES.length)
  const items: Line[] = types.map((type, index) => ({
    label: type,
    ...(STYLES[index] ?? { state: 'idle' }),
    values: ratesOf(points, ({ items: all }) => all[type] ?? 0),
  }))
  const took: Line[] = [
    { label: 'half within', state: 'good', values: points.slice(1).map(({ half }) => half ?? null) },
    {
      label: '95 % within',
      state: 'hold',
      dash: [8, 4],
      values: points.slice(1).map(({ most }) => most ?? null),
    },
  ]
  const waiting: Line[] = [
    { label: 'waiting', state: 'wait', values: points.slice(1).map((point) => point.waiting) },
  ]
  return (
    <Panel title="The last 15 minutes">
      <div className="grid grid-cols-1 gap-x-6 gap-y-4 wide:grid-cols-2">
        <Chart title="Envelopes, by fate" times={times} lines={answered} say={sayRate} />
        <Chart title="Items, by type" times={times} lines={items} say={sayRate} />
        <Chart
          title="Time to answer"
          times={times}
          lines={took}
          say={(seconds) => sayDuration(seconds * 1000)}
        />
        <Chart
          title="Waiting in the spool"
          times={times}
          lines={waiting}
          say={(many) => sayCount(Math.round(many))}
        />
      </div>
    </Panel>
  )
}

/** How much a total grew, a second. */
function ratesOf(points: Point[], totalOf: (point: Point) => number): (number | null)[] {
  return points.slice(1).map((point, index) => {
    const before = points[index]
    if (!before) return null
    return Math.max(0, totalOf(point) - totalOf(before)) / Math.max(0.001, (point.time - before.time) / 1000)
  })
}

function busiest(counts: Record<string, number>, many: number): string[] {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .slice(0, many)
    .map(([name]) => name)
    .sort()
}

function Fates({ snapshot: { totals } }: { snapshot: Snapshot }) {
  const answers = countBy(totals.answers, ({ answer }) => answer)
  const ends = countBy(totals.ends, ({ end }) => end)
  const all = Object.values(answers).reduce((sum, count) => sum + count, 0)
  return (
    <Panel title="Fates" note="since the replicas started">
      <table aria-label="Envelopes by fate" className="w-full text-note">
        <tbody>
          {ANSWERS.map((answer) => (
            <tr key={answer} className="border-t border-line first:border-t-0">
              <th scope="row" className="py-1.5 text-left font-normal" title={MEANINGS[answer]}>
                <a href={`/console/feed?fate=${answer}`} className="no-underline hover:underline">
                  <FateBadge fate={answer} />
                </a>
              </th>
              <td className="text-right font-mono tabular-nums">{sayCount(answers[answer] ?? 0)}</td>
              <td className="w-16 text-right text-quiet tabular-nums">
                {all > 0 ? sayShare((answers[answer] ?? 0) / all) : '–'}
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr className="border-t-2 border-line font-semibold">
            <th scope="row" className="py-1.5 text-left">
              all envelopes
            </th>
            <td className="text-right font-mono tabular-nums">{sayCount(all)}</td>
            <td />
          </tr>
        </tfoot>
      </table>
      <h3 className="mt-5 mb-1 text-note font-semibold">How waiting in the spool ended</h3>
      <table aria-label="Spooled envelopes by end" className="w-full text-note">
        <tbody>
          {ENDS.map((end) => (
            <tr key={end} className="border-t border-line first:border-t-0">
              <th scope="row" className="py-1 text-left font-normal" title={MEANINGS[end]}>
                {end}
              </th>
              <td className="text-right font-mono tabular-nums">{sayCount(ends[end] ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
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
      {spools.length === 0 && (
        <Empty>There is none: without SENTRY_DSN envelopes go to the inbox, and nothing waits.</Empty>
      )}
      {spools.map((spool) => (
        <SpoolFacts key={spool.id} spool={spool} />
      ))}
    </Panel>
  )
}

function HeldBack({ snapshot: { limits, upstreams, replicas } }: { snapshot: Snapshot }) {
  const open = upstreams.filter((upstream) => upstream.open.length > 0)
  const warnings = [...new Set(replicas.flatMap(({ status }) => status?.warnings ?? []))]
  return (
    <Panel title="Held back">
      {limits.length === 0 && open.length === 0 && warnings.length === 0 && (
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
        {warnings.map((warning) => (
          <li key={warning}>
            <Badge state="hold">look</Badge> {warning}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function LimitLine({ limit: { project, category, until } }: { limit: LimitInForce }) {
  const now = useNow() ?? until
  return (
    <li>
      <Badge state="hold">limited</Badge> <span className="wrap-anywhere">{category}</span> of{' '}
      <span className="wrap-anywhere">{project}</span>, for{' '}
      <span className="tabular-nums">{sayDuration(Math.max(0, Math.ceil((until - now) / 1000) * 1000))}</span>{' '}
      more
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
