/** Problems that affect the figures or need an operator's action. */

import { hostOf } from 'contract/situation/upstreams'
import type { ReactNode } from 'react'
import { Empty } from '../../ui/panel.tsx'
import type { State } from '../../ui/states.ts'
import { StateMark } from '../../ui/status-badge.tsx'
import type { OverviewSnapshot, ReplicaSummary } from './monitor/snapshot.ts'

type Props = Pick<OverviewSnapshot, 'replicas' | 'spool' | 'simulatedOutage'>

export function Notices({ replicas, spool, simulatedOutage }: Props) {
  const unresponsive = replicas.filter(({ state }) => state === 'unresponsive')
  const warnings = new Set(replicas.flatMap((replica) => replica.warnings ?? []))
  const damaged = spool?.damaged_files ?? []
  return (
    <div role="status" className="grid grid-cols-1 gap-2">
      {replicas.length === 0 && (
        <Notice state="bad">
          No replica found. Set TUNNEL_ADMIN of web to the admin ports of the tunnels, for example
          tunnel-admin:9091, and restart web.
        </Notice>
      )}
      {unresponsive.length > 0 && <Notice state="bad">{describeUnresponsive(unresponsive)}</Notice>}
      {damaged.map((file) => (
        <Notice key={file} state="bad">
          The spool’s file was damaged, and is set aside as <code>{file}</code>. It may hold envelopes that
          were acknowledged. “A damaged spool file” in docs/operations.md has the commands that put them back.
          This notice ends when the file is deleted or moved away.
        </Notice>
      ))}
      {simulatedOutage && (
        <Notice state="wait">
          Simulated outage of Sentry, begun in the error lab: it ends in {Math.ceil(simulatedOutage / 1000)}{' '}
          s.
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

function describeUnresponsive(replicas: ReplicaSummary[]): string {
  const [first] = replicas
  return first && replicas.length === 1
    ? `${nameOf(first)} does not respond. Check its log, and that it is running.`
    : `${replicas.length} replicas do not respond. Check their logs, and that they are running.`
}

function nameOf({ name, origin }: ReplicaSummary): string {
  return name ?? hostOf(origin)
}

export function Notice({ state, children }: { state: State; children: ReactNode }) {
  return (
    <p className="flex max-w-none items-start gap-2.5 rounded-part border border-line bg-surface px-4 py-2.5 text-note">
      <StateMark state={state} className="mt-0.5 size-4" />
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </p>
  )
}

/** Shown in place of a page that only a script fills, where scripts are off. */
export function NeedsScript() {
  return (
    <noscript>
      <p className="max-w-prose text-note">
        This page needs JavaScript, which is off in this browser. The page Rejections works without it.
      </p>
    </noscript>
  )
}

/** Empty state shown when no replica responds. */
export function NoReplica() {
  return (
    <Empty>
      No tunnel responds, so there is no data. See{' '}
      <a href="/console/replicas" className="link">
        Replicas
      </a>
      .
    </Empty>
  )
}
