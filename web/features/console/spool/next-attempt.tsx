/** Next delivery attempt of a pending entry, or the reason why it waits. */

import type { UpstreamView } from 'contract/situation/upstreams'
import type { SpoolPause } from 'contract/spool'
import { In } from '../../../ui/relative-time.tsx'
import { holdOf } from './spool-projects.ts'

type Props = {
  /** `due`: milliseconds since 1970; absent when it is due. */
  entry: { project: string; due?: number }
  /** Pauses of its spool. */
  paused: readonly SpoolPause[] | undefined
  upstreams: readonly Pick<UpstreamView, 'origin' | 'closed' | 'nextProbe'>[]
}

export function NextAttempt({ entry: { project, due }, paused = [], upstreams }: Props) {
  const hold = holdOf(project, paused, upstreams)
  if (hold === 'paused') return hold
  if (hold)
    return (
      <>
        waits for Sentry; next probe <In time={hold.nextProbe} />
      </>
    )
  return due === undefined ? 'now' : <In time={due} />
}
