/** Replicas with their state and load. */
'use client'

import { hostOf } from 'contract/situation/upstreams'
import { formatBytes, formatCount, formatDuration, formatPercent } from '../../../lib/format.ts'
import { Copyable } from '../../../ui/code-block.tsx'
import { Fact, Facts, Tools } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import type { State } from '../../../ui/states.ts'
import { Badge } from '../../../ui/status-badge.tsx'
import type { LiveView } from '../figures/live-view.ts'
import { RECENT } from '../figures/range.ts'
import { LiveIndicator, useLive } from '../live-data.tsx'
import type { ReplicaSummary } from '../monitor/snapshot.ts'
import { Notice, Notices } from '../notices.tsx'

export function ReplicaList({ first }: { first: LiveView }) {
  const { overview, state } = useLive(first)
  return (
    <>
      <Tools>
        <LiveIndicator state={state} />
      </Tools>
      <div className="mt-4 mb-4 wide:mt-0">
        <Notices {...overview} />
        {overview.missing !== undefined && <Notice state="bad">{overview.missing}</Notice>}
      </div>
      <ul className="grid grid-cols-1 gap-4 wide:grid-cols-2 desk:grid-cols-3">
        {overview.replicas.map((replica) => (
          <ReplicaCard key={replica.name ?? replica.origin} replica={replica} />
        ))}
      </ul>
    </>
  )
}

const BADGES: Record<ReplicaSummary['state'], { shape: State; word: string }> = {
  responding: { shape: 'good', word: 'responding' },
  unresponsive: { shape: 'bad', word: 'not responding' },
  stopped: { shape: 'drop', word: 'stopped' },
}

function ReplicaCard({ replica }: { replica: ReplicaSummary }) {
  const { name, origin, state, lastResponse, unresponsiveSince, version, since, envelopes } = replica
  const { shape, word } = BADGES[state]
  const isResponding = state === 'responding'
  return (
    <li className="panel">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-body font-semibold wrap-anywhere">{name ?? hostOf(origin)}</h2>
        <Badge state={shape}>{word}</Badge>
      </div>
      <Facts>
        <Fact name="Envelopes">
          {envelopes === undefined ? 'unknown' : `${formatCount(envelopes)} in the last ${RECENT.words}`}
        </Fact>
        {!isResponding && <TimeFact name="Not responding since" time={unresponsiveSince} />}
        <TimeFact name="Last response" time={lastResponse} />
        {version !== undefined && <Fact name="Version">{version}</Fact>}
        <TimeFact name="Started" time={since} />
        {isResponding && <Load replica={replica} />}
        <Fact name="Admin port">
          <Copyable text={hostOf(origin)} name="address of the admin port" />
        </Fact>
      </Facts>
    </li>
  )
}

function TimeFact({ name, time }: { name: string; time: number | undefined }) {
  return (
    time !== undefined && (
      <Fact name={name}>
        <Ago time={time} />
      </Fact>
    )
  )
}

function Load({ replica: { process, cpu, in_flight: inFlight = 0 } }: { replica: ReplicaSummary }) {
  return (
    <>
      <Fact name="In flight">{formatCount(inFlight)}</Fact>
      {process && (
        <>
          <Fact name="CPU">
            {cpu === undefined ? 'measured at the next refresh' : `${formatPercent(cpu)} of a core`}
          </Fact>
          <Fact name="Memory">{formatBytes(process.resident_bytes)}</Fact>
          <Fact name="Event-loop delay">p99 {formatDuration(process.event_loop_p99_seconds * 1000)}</Fact>
        </>
      )}
    </>
  )
}
