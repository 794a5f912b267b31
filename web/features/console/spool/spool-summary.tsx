/** A spool in figures: how much waits and since when, how much room is left, and whether it takes more. */

import type { ReactNode } from 'react'
import { sayBytes, sayCount, sayDuration, sayShare } from '../../../lib/format.ts'
import { Ago } from '../../../ui/relative-time.tsx'
import type { SpoolGlance } from '../monitor/snapshot.ts'

export function SpoolFacts({ spool }: { spool: SpoolGlance }) {
  const { boundMs, writable, since, problem, paused } = spool
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note">
      <Depth spool={spool} />
      <Fact name="Given up after">{sayDuration(boundMs)}, and Sentry is told</Fact>
      <Fact name="Takes more">
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
          {paused.first.map(({ project }) => project ?? 'all delivery').join(', ')}
          {paused.all > paused.first.length &&
            ` and ${sayCount(paused.all - paused.first.length)} more projects`}
        </Fact>
      )}
    </dl>
  )
}

/** Not known while the disk or the server that holds it does not answer. */
function Depth({ spool }: { spool: SpoolGlance }) {
  const { envelopes, bytes, oldest, fullInSeconds, boundBytes, problem } = spool
  if (envelopes === undefined || bytes === undefined)
    return <Fact name="Waiting">not known: {problem ?? 'it does not answer'}</Fact>
  return (
    <>
      <Fact name="Waiting">{sayCount(envelopes)}</Fact>
      <Fact name="On disk">
        {sayBytes(bytes)}, {sayShare(bytes / boundBytes)} of {sayBytes(boundBytes)}
      </Fact>
      <Fact name="Oldest">{oldest ? <Ago time={oldest} /> : 'nothing waits'}</Fact>
      <Fact name="Full in">
        {fullInSeconds === undefined ? 'it does not grow' : sayDuration(fullInSeconds * 1000)}
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
