/** Problems that affect the figures or need an operator's action. */

import type { ReactNode } from 'react'
import { Empty } from '../../ui/panel.tsx'
import type { State } from '../../ui/status.ts'
import { StateMark } from '../../ui/status-badge.tsx'
import { hostOf } from './monitor/replica-metrics.ts'
import type { OverviewSnapshot } from './monitor/snapshot.ts'

export function Notices({ replicas }: Pick<OverviewSnapshot, 'replicas'>) {
  const silent = replicas
    .filter(({ state }) => state === 'silent')
    .map(({ name, origin }) => name ?? hostOf(origin))
  const warnings = [...new Set(replicas.flatMap(({ warnings: its = [] }) => its))]
  return (
    <div role="status" className="grid grid-cols-1 gap-2 empty:hidden">
      {replicas.length === 0 && (
        <Notice state="bad">
          No replica found. Set TUNNEL_ADMIN for web to the address of the replicas’ admin ports, for example
          tunnel-admin:9091, and restart it.
        </Notice>
      )}
      {silent.length > 0 && (
        <Notice state="bad">
          {silent.length === 1
            ? `${silent[0]} does not respond; its last known counts are shown. Check its log, and that it is running.`
            : `${silent.length} replicas do not respond; their last known counts are shown. Check their logs, and that they are running.`}
        </Notice>
      )}
      {warnings.map((warning) => (
        <Notice key={warning} state="hold">
          {warning}
        </Notice>
      ))}
    </div>
  )
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
export function Unheard() {
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
