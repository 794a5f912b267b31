/** Progress of the last resend of a store, with a button that stops it. */

import type { ResendJob } from 'contract/store'
import { formatBytes, formatCount, formatDuration, formatRate } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { type SpoolQuery, selectionOf } from './spool-query.ts'

export function isResending(job: ResendJob | undefined): boolean {
  return job !== undefined && job.finished === undefined && job.stopped === undefined
}

type Props = { spool: string; job: ResendJob; query: SpoolQuery }

export function ResendPanel({ spool, job, query }: Props) {
  const { entries, bytes, sent, bytes_sent: bytesSent } = job
  const isRunning = isResending(job)
  return (
    <Panel title="Send again" note={describeScope(job)}>
      {/* Only the state is announced: the numbers change every two seconds. */}
      <p role="status" className="text-note font-semibold">
        {describeState(job)}
      </p>
      {isRunning && (
        <progress
          aria-label="Envelopes that were put into the spool again"
          max={entries}
          value={sent}
          className="my-2 block h-2 w-full appearance-none overflow-hidden rounded-full border-0 bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
        />
      )}
      <p className="text-note tabular-nums">
        {formatCount(sent)} of {formatCount(entries)} envelopes were put into the spool again (
        {formatBytes(bytesSent)} of {formatBytes(bytes)}). The server may still decline them: see Pending and
        Declined. {isRunning ? <Pace job={job} /> : <End job={job} />}
      </p>
      {isRunning && (
        <form method="post" action="/console/spool/act" className="mt-3 text-note">
          {Object.entries({ spool, action: 'stop', ...selectionOf(query) }).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <Button type="submit" weight="quiet">
            Stop
          </Button>
        </form>
      )}
    </Panel>
  )
}

function describeScope({ state, project, event_id: eventId, from, to }: ResendJob): string {
  const words = [
    state,
    project,
    eventId && `event ${eventId}`,
    (from ?? to) !== undefined && 'of a chosen time',
  ]
  return words.filter(Boolean).join(', ')
}

function describeState({ waiting, stopped, finished }: ResendJob): string {
  if (finished !== undefined) return 'Finished'
  if (stopped !== undefined) return 'Stopped'
  return waiting === undefined ? 'Sending again' : `Waiting: ${waiting}`
}

function Pace({ job: { entries, sent, per_second: perSecond } }: { job: ResendJob }) {
  if (perSecond === 0) return null
  const left = ((entries - sent) / perSecond) * 1000
  return (
    <>
      {formatRate(perSecond)}, {formatDuration(Math.max(1000, left))} left. Live traffic goes first.
    </>
  )
}

function End({ job: { started, stopped, finished } }: { job: ResendJob }) {
  return (
    <>
      Started <Ago time={started} />, ended <Ago time={finished ?? stopped ?? started} />.
    </>
  )
}
