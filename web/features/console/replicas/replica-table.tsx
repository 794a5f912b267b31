/** Cards of the replicas, each with its state and vital figures. */
'use client'

import { formatBytes, formatCount, formatDuration, formatPercent, formatRate } from '../../../lib/format.ts'
import { Tools } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import type { State } from '../../../ui/status.ts'
import { Badge } from '../../../ui/status-badge.tsx'
import { LiveIndicator } from '../live-indicator.tsx'
import { hostOf } from '../monitor/replica-metrics.ts'
import type { OverviewSnapshot, ReplicaSummary } from '../monitor/snapshot.ts'
import { useLive } from '../monitor/use-snapshot.ts'
import { Notices } from '../notices.tsx'

export function ReplicaTable({ first }: { first: OverviewSnapshot }) {
  const { glance, state } = useLive(first)
  return (
    <>
      <Tools>
        <LiveIndicator state={state} />
      </Tools>
      <div className="mt-4 mb-4 wide:mt-0">
        <Notices replicas={glance.replicas} />
      </div>
      <ul className="grid grid-cols-1 gap-4 wide:grid-cols-2 desk:grid-cols-3">
        {glance.replicas.map((replica) => (
          <ReplicaCard key={replica.name ?? replica.origin} replica={replica} />
        ))}
      </ul>
    </>
  )
}

const BADGES: Record<ReplicaSummary['state'], { state: State; word: string }> = {
  answering: { state: 'good', word: 'responding' },
  silent: { state: 'bad', word: 'not responding' },
  ended: { state: 'drop', word: 'stopped' },
}

function ReplicaCard({ replica }: { replica: ReplicaSummary }) {
  const { name, origin, state, seen, silentSince, version, since, vitals, cpu, rate, envelopes } = replica
  return (
    <li className="min-w-0 rounded-card border border-line bg-surface p-4 wide:p-5">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-body font-semibold wrap-anywhere">{name ?? hostOf(origin)}</h2>
        <Badge state={BADGES[state].state}>{BADGES[state].word}</Badge>
      </div>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note">
        <Row name="Envelopes">
          {formatCount(envelopes)}
          {state === 'answering' && `, now ${formatRate(rate)}`}
        </Row>
        {state !== 'answering' && silentSince !== undefined && (
          <Row name="Not responding since">
            <Ago time={silentSince} />
          </Row>
        )}
        {seen !== undefined && (
          <Row name="Last response">
            <Ago time={seen} />
          </Row>
        )}
        {version !== undefined && <Row name="Version">{version}</Row>}
        {since !== undefined && (
          <Row name="Started">
            <Ago time={since} />
          </Row>
        )}
        {vitals && state === 'answering' && (
          <>
            <Row name="In flight">{formatCount(vitals.inFlight)}</Row>
            <Row name="CPU">
              {cpu === undefined ? 'measured at the next refresh' : `${formatPercent(cpu)} of a core`}
            </Row>
            <Row name="Memory">{formatBytes(vitals.rss)}</Row>
            <Row name="Event-loop delay">p99 {formatDuration(vitals.loopDelay * 1000)}</Row>
          </>
        )}
        <Row name="Admin port">{hostOf(origin)}</Row>
      </dl>
    </li>
  )
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="text-quiet">{name}</dt>
      <dd className="min-w-0 wrap-anywhere tabular-nums">{children}</dd>
    </>
  )
}
