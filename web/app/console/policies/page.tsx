/** Policies: scrubbing, quotas and storm protection, with their modes and effects. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { DAY } from '../../../features/console/figures/range.ts'
import { NoReplica } from '../../../features/console/notices.tsx'
import { countRules, readExample, readPolicies } from '../../../features/console/policies/policies.ts'
import {
  ExamplePanel,
  PolicyList,
  QuotaBars,
  RuleTable,
  StormList,
} from '../../../features/console/policies/policy-panels.tsx'

export const metadata = { title: 'Policies · Console' }

export default async function PoliciesPage() {
  const data = await requireConsoleData('/console/policies')
  const [snapshot, { figures, missing }] = await Promise.all([data.snapshot(), data.figures(DAY)])
  const policies = readPolicies(snapshot)
  const examples = policies?.scrub?.mode === 'observe' ? await data.scrubExamples() : []
  return (
    <ConsoleShell at="policies" title="Policies">
      <AutoRefresh />
      {policies ? (
        <div className="grid grid-cols-1 gap-4 desk:grid-cols-2 desk:items-start">
          <div className="min-w-0 desk:col-span-2">
            <PolicyList policies={policies} />
          </div>
          <div className="min-w-0 desk:col-span-2">
            <ExamplePanel example={readExample(policies, examples)} />
          </div>
          <QuotaBars quota={policies.quota} />
          <StormList storm={policies.storm} />
          <div className="min-w-0 desk:col-span-2">
            {missing !== undefined && <p className="mb-2 text-note wrap-anywhere">{missing}</p>}
            <RuleTable scrub={policies.scrub} rules={countRules(policies.rules, figures)} />
          </div>
        </div>
      ) : (
        <NoReplica />
      )}
    </ConsoleShell>
  )
}
