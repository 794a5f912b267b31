/** The way of an envelope, drawn with what passes on it just now. */

import type { ReactNode } from 'react'
import { ANSWERS } from '../../lib/console/fates.ts'
import type { Point, ReplicaView, Snapshot, UpstreamView } from '../../lib/console/watch.ts'
import { sayBytes, sayDuration, sayRate } from '../../lib/console/words.ts'
import { FateBadge } from '../fate.tsx'
import { StateMark } from '../state.tsx'

const RECENT_MS = 12_000

export function LiveWay({ snapshot, points }: { snapshot: Snapshot; points: Point[] }) {
  const { replicas, upstreams, spools } = snapshot
  const recent = ratesOver(points)
  const present = replicas.filter(({ state }) => state !== 'ended')
  const took = points.findLast(({ half }) => half !== undefined)
  return (
    <section
      aria-label="The way of an envelope, just now"
      className="mt-0 rounded-card border border-line bg-surface p-4 wide:p-5"
    >
      <ol className="grid grid-cols-1 gap-2 desk:grid-cols-[auto_1fr_auto_1fr_minmax(13rem,auto)_1fr_minmax(13rem,auto)] desk:items-center">
        <Stop>
          <strong>Browsers</strong>
        </Stop>
        <Edge>
          {sayRate(recent.envelopes)}, {sayBytes(recent.bytes)}/s
        </Edge>
        <Stop>
          <strong>nginx</strong>
        </Stop>
        <Edge>
          {took?.half === undefined
            ? 'nothing answered lately'
            : `half in ${sayDuration(took.half * 1000)}, 95 % in ${sayDuration((took.most ?? 0) * 1000)}`}
        </Edge>
        <Stop>
          <strong>{present.length === 1 ? '1 replica' : `${present.length} replicas`}</strong>
          <ul className="mt-1 grid gap-0.5 text-note">
            {present.map((replica) => (
              <ReplicaLine key={replica.name ?? replica.origin} replica={replica} />
            ))}
          </ul>
        </Stop>
        <Edge>
          <span className="flex flex-wrap justify-center gap-1">
            {ANSWERS.filter((answer) => (recent.answers[answer] ?? 0) > 0).map((answer) => (
              <span key={answer} className="inline-flex items-center gap-1">
                <FateBadge fate={answer} /> {sayRate(recent.answers[answer] ?? 0)}
              </span>
            ))}
            {recent.envelopes === 0 && 'nothing just now'}
          </span>
        </Edge>
        <Stop>
          <strong>{upstreams.length === 0 ? 'The inbox' : 'Sentry'}</strong>
          <ul className="mt-1 grid gap-0.5 text-note">
            {upstreams.map((upstream) => (
              <UpstreamLine key={upstream.origin} upstream={upstream} />
            ))}
            {spools.map(({ id, envelopes = 0 }) => (
              <li key={id} className="flex items-center gap-1.5 text-quiet">
                <StateMark state={envelopes > 0 ? 'wait' : 'idle'} className="size-3.5" />
                {envelopes > 0 ? `${envelopes} wait in the spool` : 'nothing waits'}
              </li>
            ))}
          </ul>
        </Stop>
      </ol>
    </section>
  )
}

function Stop({ children }: { children: ReactNode }) {
  return <li className="rounded-part border border-line bg-ground px-3 py-2">{children}</li>
}

/** An arrow with what passes over it: down on a phone, across where there is room. */
function Edge({ children }: { children: ReactNode }) {
  return (
    <li className="flex items-center gap-3 px-3 text-center text-note text-quiet tabular-nums desk:flex-col desk:gap-1 desk:px-1">
      <span className="desk:order-1">{children}</span>
      <svg
        viewBox="0 0 60 8"
        aria-hidden="true"
        className="order-first hidden w-full desk:order-2 desk:block"
      >
        <path d="M0 4h56m-4-3 4 3-4 3" fill="none" className="stroke-accent" strokeWidth="1.5" />
      </svg>
      <svg viewBox="0 0 8 24" aria-hidden="true" className="order-first h-6 desk:hidden">
        <path d="M4 0v22m-3-4 3 4 3-4" fill="none" className="stroke-accent" strokeWidth="1.5" />
      </svg>
    </li>
  )
}

function ReplicaLine({ replica: { name, origin, state, rate } }: { replica: ReplicaView }) {
  return (
    <li className="flex items-center gap-1.5">
      <StateMark state={state === 'answering' ? 'good' : 'bad'} className="size-3.5" />
      <span className="wrap-anywhere">{name ?? origin}</span>
      <span className="ml-auto whitespace-nowrap text-quiet tabular-nums">
        {state === 'answering' ? sayRate(rate) : 'does not answer'}
      </span>
    </li>
  )
}

function UpstreamLine({ upstream: { origin, open } }: { upstream: UpstreamView }) {
  return (
    <li className="flex items-center gap-1.5">
      <StateMark state={open.length > 0 ? 'bad' : 'good'} className="size-3.5" />
      <span className="wrap-anywhere">{origin.replace(/^https?:\/\//, '')}</span>
      {open.length > 0 && <span className="text-bad">not asked</span>}
    </li>
  )
}

/** What came a second, over the last seconds. */
function ratesOver(points: Point[]) {
  const newest = points.at(-1)
  const oldest = points.find(({ time }) => time >= (newest?.time ?? 0) - RECENT_MS)
  const seconds = newest && oldest ? (newest.time - oldest.time) / 1000 : 0
  const per = (after = 0, before = 0) => (seconds > 0 ? Math.max(0, after - before) / seconds : 0)
  const answers = Object.fromEntries(
    ANSWERS.map((answer) => [answer, per(newest?.answers[answer], oldest?.answers[answer])]),
  )
  return {
    answers,
    envelopes: Object.values(answers).reduce((sum, rate) => sum + rate, 0),
    bytes: per(newest?.bytes, oldest?.bytes),
  }
}
