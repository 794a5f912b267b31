/** What an operator has to know before they believe the figures, or has to set right. Nothing, as a rule. */

import type { ReactNode } from 'react'
import { Empty } from '../../ui/panel.tsx'
import type { State } from '../../ui/status.ts'
import { StateMark } from '../../ui/status-badge.tsx'
import { hostOf } from './monitor/replica-metrics.ts'
import type { Glance } from './monitor/snapshot.ts'

export function Notices({ replicas }: Pick<Glance, 'replicas'>) {
  const silent = replicas
    .filter(({ state }) => state === 'silent')
    .map(({ name, origin }) => name ?? hostOf(origin))
  const warnings = [...new Set(replicas.flatMap(({ warnings: its = [] }) => its))]
  return (
    <div role="status" className="grid grid-cols-1 gap-2 empty:hidden">
      {replicas.length === 0 && (
        <Notice state="bad">
          No tunnel is known. Set TUNNEL_ADMIN for web to where their admin ports are, like tunnel-admin:9091,
          and start it again.
        </Notice>
      )}
      {silent.length > 0 && (
        <Notice state="bad">
          {silent.length === 1 ? `${silent[0]} does` : `${silent.length} replicas do`} not answer; counted as
          last heard. Look at its log, and whether it runs.
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

/** What stands where only replicas could tell, and none does. */
export function Unheard() {
  return (
    <Empty>
      No replica answers, so nothing is known of it.{' '}
      <a href="/console/replicas" className="link">
        Replicas
      </a>{' '}
      says which are silent, and since when.
    </Empty>
  )
}
