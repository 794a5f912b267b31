/** Facts about a spool: pending envelopes, age, size, and whether it accepts envelopes. */

import type { ReactNode } from 'react'
import { formatBytes, formatCount, formatDuration, formatPercent } from '../../../lib/format.ts'
import { Ago } from '../../../ui/relative-time.tsx'
import type { SpoolOverview } from '../monitor/snapshot.ts'

export function SpoolSummary({ spool }: { spool: SpoolOverview }) {
  const { max_age_ms: boundMs, writable, since, problem, paused } = spool
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note">
      <Depth spool={spool} />
      <Fact name="Expires after">{formatDuration(boundMs)}, and Sentry is notified</Fact>
      <Fact name="Accepts envelopes">
        {writable ? (
          'yes'
        ) : (
          <span className="text-bad">
            no, since <Ago time={since} />: {problem}
          </span>
        )}
      </Fact>
      {paused.all > 0 && (
        <Fact name="Paused">
          {paused.first.map(({ project }) => project ?? 'all projects').join(', ')}
          {paused.all > paused.first.length &&
            ` and ${formatCount(paused.all - paused.first.length)} more projects`}
        </Fact>
      )}
    </dl>
  )
}

/** Size and age of the spool; unknown while its disk or server does not respond. */
function Depth({ spool }: { spool: SpoolOverview }) {
  const { envelopes, bytes, oldest, full_in_seconds: fullInSeconds, max_bytes: boundBytes, problem } = spool
  if (envelopes === undefined || bytes === undefined)
    return <Fact name="Pending">unknown: {problem ?? 'no response'}</Fact>
  return (
    <>
      <Fact name="Pending">{formatCount(envelopes)}</Fact>
      <Fact name="On disk">
        {formatBytes(bytes)}, {formatPercent(bytes / boundBytes)} of {formatBytes(boundBytes)}
      </Fact>
      <Fact name="Oldest">{oldest ? <Ago time={oldest} /> : 'none'}</Fact>
      <Fact name="Full in">
        {fullInSeconds === undefined ? 'not growing' : formatDuration(fullInSeconds * 1000)}
      </Fact>
    </>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-quiet">{name}</dt>
      <dd className="min-w-0 wrap-anywhere tabular-nums">{children}</dd>
    </>
  )
}
