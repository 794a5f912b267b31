/** Policies with their modes, and what to set for those that are off. */

import type { PolicyMode, PolicyStatus } from 'contract/policies'
import type { ReactNode } from 'react'
import { formatQuantity } from '../../../lib/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { Badge } from '../../../ui/status-badge.tsx'

export function PolicyList({ policies: { scrub, storm, quota } }: { policies: PolicyStatus }) {
  return (
    <Panel title="Policies">
      <ul className="grid grid-cols-1 gap-4 wide:grid-cols-3">
        <Policy name="Scrubbing" mode={scrub?.mode} enforce="Remove observe from SCRUB">
          {scrub ? (
            <>Removes personal data and secrets, level {scrub.level}.</>
          ) : (
            <>
              Personal data is forwarded as browsers send it. Set <Setting line="SCRUB=default" /> to remove
              it, and <Setting line="SCRUB=default observe" /> to see first what would be removed.
            </>
          )}
        </Policy>
        <Policy name="Quotas" mode={quota?.mode} enforce="Remove observe from QUOTA">
          {quota ? (
            <>{formatQuantity(quota.quotas.length, 'quota')} by project, category and period.</>
          ) : (
            <>
              Everything is forwarded. Set <Setting line="QUOTA=error=50000/day" /> to bound the errors of a
              day, and add <Setting line="observe" /> to see first what would be dropped.
            </>
          )}
        </Policy>
        <Policy name="Storm protection" mode={storm?.mode} enforce="Add enforce to STORM_LIMIT">
          {storm ? (
            <>Of identical errors, {storm.limit} a minute are forwarded, and one in 100 of the others.</>
          ) : (
            <>
              Identical errors are not counted. Set <Setting line="STORM_LIMIT=100 enforce" /> to sample those
              beyond 100 a minute.
            </>
          )}
        </Policy>
      </ul>
    </Panel>
  )
}

type PolicyProps = { name: string; mode: PolicyMode | undefined; enforce: string; children: ReactNode }

function Policy({ name, mode, enforce, children }: PolicyProps) {
  return (
    <li className="min-w-0 text-note">
      <div className="mb-1 flex flex-wrap items-center gap-2">
        <h3 className="font-semibold">{name}</h3>
        <ModeBadge mode={mode} />
      </div>
      <p className="max-w-prose text-quiet">{children}</p>
      {mode === 'observe' && (
        <p className="mt-1 max-w-prose text-quiet">
          It changes nothing and only counts. {enforce} to make it take effect.
        </p>
      )}
    </li>
  )
}

function ModeBadge({ mode }: { mode: PolicyMode | undefined }) {
  if (mode === undefined) return <Badge state="idle">off</Badge>
  return mode === 'enforce' ? <Badge state="good">enforced</Badge> : <Badge state="wait">observes</Badge>
}

function Setting({ line }: { line: string }) {
  return <code className="text-ink wrap-anywhere">{line}</code>
}
