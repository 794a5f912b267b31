/** Facts about a spool: pending envelopes, age, size, and whether it accepts envelopes. */

import { formatBytes, formatCount, formatDuration, formatPercent } from '../../../lib/format.ts'
import { Fact, Facts } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import type { SpoolOverview } from '../monitor/snapshot.ts'

export function SpoolSummary({ spool }: { spool: SpoolOverview }) {
  const { max_age_ms: maxAgeMs, writable, since, problem, paused } = spool
  return (
    <Facts>
      <Depth spool={spool} />
      <Fact name="Expires after">{formatDuration(maxAgeMs)}, and Sentry is notified</Fact>
      <Fact name="Accepts envelopes">
        {writable ? (
          'yes'
        ) : (
          <span className="text-bad">
            no, since <Ago time={since} />: {problem}
          </span>
        )}
      </Fact>
      {spool.durability !== undefined && <Fact name="Durability">{spool.durability}</Fact>}
      {paused.total > 0 && (
        <Fact name="Paused">
          {paused.shown.map(({ project }) => project ?? 'all projects').join(', ')}
          {paused.total > paused.shown.length &&
            ` and ${formatCount(paused.total - paused.shown.length)} more projects`}
        </Fact>
      )}
    </Facts>
  )
}

/** Size and age of the spool; unknown while its disk or server does not respond. */
function Depth({ spool }: { spool: SpoolOverview }) {
  const { envelopes, mirrored, bytes, oldest, full_in_seconds: fullInSeconds, max_age_ms: maxAgeMs } = spool
  const { max_bytes: maxBytes, problem, disk_free_bytes: freeBytes, wal_bytes: walBytes } = spool
  if (envelopes === undefined || bytes === undefined)
    return <Fact name="Pending">unknown: {problem ?? 'no response'}</Fact>
  return (
    <>
      <Fact name="Pending">
        {formatCount(envelopes)}
        {mirrored > 0 && `, and ${formatCount(mirrored)} for mirrors`}
      </Fact>
      <Fact name="On disk">
        {formatBytes(bytes)}, {formatPercent(bytes / maxBytes)} of {formatBytes(maxBytes)}
      </Fact>
      {freeBytes !== undefined && walBytes !== undefined && (
        <Fact name="Disk">
          {formatBytes(freeBytes)} free, write-ahead log {formatBytes(walBytes)}
        </Fact>
      )}
      <Fact name="Oldest">{oldest ? <Ago time={oldest} /> : 'none'}</Fact>
      <Fact name="Full in">
        {bytes / maxBytes > FULL_SHARE ? FULL : describeFull(fullInSeconds, maxAgeMs)}
      </Fact>
    </>
  )
}

/** An envelope that is larger than the rest is refused. */
const FULL_SHARE = 0.99
const FULL = 'full now: reports that Sentry does not accept at once can be lost. Raise SPOOL_BYTES'

/** Describes when the spool is full. Entries expire after `maxAgeMs`, so a spool that would be full later does not become full. */
function describeFull(seconds: number | undefined, maxAgeMs: number): string {
  if (seconds === undefined) return 'not growing'
  return seconds * 1000 < maxAgeMs
    ? formatDuration(seconds * 1000)
    : `will not fill: entries expire after ${formatDuration(maxAgeMs)}`
}
