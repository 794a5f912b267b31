/** Problems that affect the figures or need an operator's action. */

import type { ReactNode } from 'react'
import { Empty } from '../../ui/panel.tsx'
import type { State } from '../../ui/states.ts'
import { StateMark } from '../../ui/status-badge.tsx'
import { hostOf } from './monitor/figures.ts'
import type { OverviewSnapshot, ReplicaSummary } from './monitor/snapshot.ts'

export function Notices({ replicas }: Pick<OverviewSnapshot, 'replicas'>) {
  const unresponsive = replicas.filter(({ state }) => state === 'unresponsive')
  const withoutFigures = replicas.filter(({ state, process }) => state === 'responding' && !process)
  const warnings = new Set(replicas.flatMap((replica) => replica.warnings ?? []))
  return (
    <div role="status" className="grid grid-cols-1 gap-2 empty:hidden">
      {replicas.length === 0 && (
        <Notice state="bad">
          No replica found. Set TUNNEL_ADMIN for web to the address of the replicas’ admin ports, for example
          tunnel-admin:9091, and restart it.
        </Notice>
      )}
      {unresponsive.length > 0 && (
        <Notice state="bad">
          {nameReplicas(unresponsive)} not respond; the last known counts are shown. Check the log, and that
          it is running.
        </Notice>
      )}
      {withoutFigures.length > 0 && (
        <Notice state="hold">
          {nameReplicas(withoutFigures)} not report figures: it runs an earlier release. Its envelopes are not
          counted here until it is replaced.
        </Notice>
      )}
      {[...warnings].map((warning) => (
        <Notice key={warning} state="hold">
          {warning}
        </Notice>
      ))}
    </div>
  )
}

function nameReplicas([first, ...others]: ReplicaSummary[]): string {
  if (others.length > 0) return `${others.length + 1} replicas do`
  return `${first?.name ?? hostOf(first?.origin ?? '')} does`
}

function Notice({ state, children }: { state: State; children: ReactNode }) {
  return (
    <p className="flex max-w-none items-start gap-2.5 rounded-part border border-line bg-surface px-4 py-2.5 text-note">
      <StateMark state={state} className="mt-0.5 size-4" />
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </p>
  )
}

/** Empty state shown when no replica responds. */
export function NoReplica() {
  return (
    <Empty>
      No replica is responding, so there is no data. See{' '}
      <a href="/console/replicas" className="link">
        Replicas
      </a>
      .
    </Empty>
  )
}
